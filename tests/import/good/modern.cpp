// C++: templates, a class with state, lambdas, constexpr.
extern "C" {
extern const int q_len, kv_len, window;
extern const float slopes[];
}
namespace {
template <int Block>
constexpr int block_of(int index) {
  return index / Block;
}
class Window {
 public:
  explicit Window(int size) : size_(size) {}
  bool holds(int distance) const { return distance >= 0 && distance < size_; }

 private:
  int size_;
};
}  // namespace
extern "C" bool mask_mod(int b, int h, int q_idx, int kv_idx) {
  const auto position = [](int q) { return q + (kv_len - q_len); };
  return Window(window).holds(position(q_idx) - kv_idx) || block_of<16>(q_idx) == block_of<16>(kv_idx);
}
extern "C" float score_mod(float score, int b, int h, int q_idx, int kv_idx) {
  return score - slopes[h] * static_cast<float>(q_idx + (kv_len - q_len) - kv_idx);
}
