// Hooks widened over query rows: every function and operator, reads of every dtype, reductions, and no read
// outside.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/catch.h"
#include "tests/runtime/host/problem.h"

using namespace fa;
using namespace fa::test;

namespace {

std::string text(const std::string& rest) { return "attention t\nhead_dim 16\ndtype f32\n" + rest; }

int floor_div(int a, int b) {
  if (b == 0) return 0;
  return static_cast<int>(std::floor(static_cast<double>(a) / b));
}
int floor_mod(int a, int b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }

const HostProblem kProblem{.batch = 2, .q_heads = 4, .kv_heads = 2, .q_len = 75, .kv_len = 90, .spread = 2};

/// Memory that ends where a page does, before one that cannot be read.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    size_ = (bytes + page_ - 1) / page_ * page_ + 2 * page_;
    memory_ =
        static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_, page_, PROT_NONE);
    mprotect(memory_ + size_ - page_, page_, PROT_NONE);
    data_ = memory_ + size_ - page_ - bytes;
  }
  ~Guarded() { munmap(memory_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  void* data() { return data_; }

 private:
  std::size_t page_, size_ = 0;
  char *memory_ = nullptr, *data_ = nullptr;
};

}  // namespace

TEST_CASE("host hooks: functions of the score") {
  struct Function {
    const char* text;
    double (*meaning)(double);
  };
  const Function functions[] = {
      {"30 * tanh(score / 30)", [](double s) { return 30 * std::tanh(s / 30); }},
      {"log(1e-3 + exp(score))", [](double s) { return std::log(1e-3 + std::exp(s)); }},
      {"log2(1e-3 + exp2(score))", [](double s) { return std::log2(1e-3 + std::exp2(s)); }},
      {"5 * sigmoid(score)", [](double s) { return 5 / (1 + std::exp(-s)); }},
      {"score * 0.5 * (1 + erf(score * 0.70710678))",
       [](double s) { return s * 0.5 * (1 + std::erf(s * 0.70710678)); }},
      {"sin(score) + cos(2 * score)", [](double s) { return std::sin(s) + std::cos(2 * s); }},
      {"sqrt(abs(score)) - rsqrt(1 + score * score)",
       [](double s) { return std::sqrt(std::fabs(s)) - 1 / std::sqrt(1 + s * s); }},
      {"floor(score) + clamp(score, -1, 0.5)",
       [](double s) { return std::floor(s) + std::min(std::max(s, -1.0), 0.5); }},
      {"f32(i32(score * 3)) + max(score, 0.25) - min(score, -0.5)",
       [](double s) { return std::trunc(s * 3) + std::max(s, 0.25) - std::min(s, -0.5); }},
      {"where(score > 1, 1 + (score - 1) / 4, score)", [](double s) { return s > 1 ? 1 + (s - 1) / 4 : s; }},
  };
  for (const Function& function : functions) {
    const HostCase host = host_case(text(std::string("score_mod = ") + function.text + "\n"));
    const Meaning meaning{.score = [&](double s, int, int, int, int) { return function.meaning(s); },
                          .mask = {}};
    const Compared compared = compare(host, kProblem, meaning);
    // Steps (floor, i32) may come out differently in float: a few rows may differ there.
    INFO(function.text);
    const bool steps = std::strstr(function.text, "floor") || std::strstr(function.text, "i32");
    CHECK(worst_error(compared) < (steps ? 0.2 : 2e-5));
  }
}

TEST_CASE("host hooks: integers, as the language defines them") {
  struct Mask {
    const char* text;
    bool (*meaning)(int b, int h, int q, int kv);
  };
  const Mask masks[] = {
      {"(q_idx - kv_idx) / 7 % 3 == 1",
       [](int, int, int q, int kv) { return floor_mod(floor_div(q - kv, 7), 3) == 1; }},
      {"(q_idx - kv_idx) / (kv_idx % 5 - 2) > -9",
       [](int, int, int q, int kv) { return floor_div(q - kv, floor_mod(kv, 5) - 2) > -9; }},
      {"(kv_idx - q_idx) % (q_idx % 7 - 3) <= 0",
       [](int, int, int q, int kv) { return floor_mod(kv - q, floor_mod(q, 7) - 3) <= 0; }},
      {"((q_idx ^ kv_idx) & 12) != 4", [](int, int, int q, int kv) { return ((q ^ kv) & 12) != 4; }},
      {"(1 << (kv_idx % 40)) >= (q_idx << 3)",
       [](int, int, int q, int kv) {
         return static_cast<int>(1u << (kv % 40 % 32)) >= static_cast<int>(static_cast<unsigned>(q) << 3);
       }},
      {"(q_idx - 50 >> 2) < (~kv_idx | 3)",
       [](int, int, int q, int kv) { return ((q - 50) >> 2) < (~kv | 3); }},
      {"ceil_div(q_idx, 8) == ceil_div(kv_idx, 8) or h == b",
       [](int b, int h, int q, int kv) { return (q + 7) / 8 == (kv + 7) / 8 || h == b; }},
      {"not (q_idx > 3 and kv_idx < 80) or abs(q_idx - kv_idx) <= 2",
       [](int, int, int q, int kv) { return !(q > 3 && kv < 80) || std::abs(q - kv) <= 2; }},
      {"any(i < 5: kv_idx == q_idx - i * i) or kv_idx == 0",
       [](int, int, int q, int kv) {
         for (int i = 0; i < 5; ++i)
           if (kv == q - i * i) return true;
         return kv == 0;
       }},
      {"sum(i < 200: where((q_idx * 3 + i) % 11 == kv_idx % 11, i, 0)) % 2 == 0",
       [](int, int, int q, int kv) {
         int sum = 0;
         for (int i = 0; i < 200; ++i) sum += (q * 3 + i) % 11 == kv % 11 ? i : 0;
         return sum % 2 == 0;
       }},
  };
  for (const Mask& mask : masks) {
    INFO(mask.text);
    const HostCase host = host_case(text(std::string("mask_mod = ") + mask.text + "\n"));
    const Meaning meaning{.score = {}, .mask = mask.meaning};
    CHECK(worst_error(compare(host, kProblem, meaning)) < error_bound(host.spec));
  }
}

TEST_CASE("host hooks: reads of every dtype, by row, by column, by both, nested and clamped") {
  constexpr int kQ = 75, kKv = 90;
  std::vector<std::int8_t> bytes(4 * kKv);
  std::vector<std::uint8_t> flags(kQ * kKv);
  std::vector<std::int32_t> order(kKv);
  std::vector<float> bias(static_cast<std::size_t>(4 * kQ * kKv));
  std::vector<double> halves(129), brains(kQ);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::int8_t>(i * 37 % 256);
  for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = i * 2654435761u % 7 < 4;
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i * 31 % kKv);
  for (std::size_t i = 0; i < bias.size(); ++i)
    bias[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<double>(i) / 64 - 1;
  for (std::size_t i = 0; i < brains.size(); ++i) brains[i] = static_cast<double>(i % 16) / 8;
  auto guard = [](const auto& values) {
    auto memory = std::make_unique<Guarded>(values.size() * sizeof(values[0]));
    std::memcpy(memory->data(), values.data(), values.size() * sizeof(values[0]));
    return memory;
  };
  const auto byte_memory = guard(bytes), flag_memory = guard(flags), order_memory = guard(order),
             bias_memory = guard(bias), half_memory = guard(encode(halves, DType::f16)),
             brain_memory = guard(encode(brains, DType::bf16));
  HostProblem problem = kProblem;
  problem.tensors = {byte_memory->data(), flag_memory->data(), order_memory->data(),
                     bias_memory->data(), half_memory->data(), brain_memory->data()};
  const HostCase host = host_case(
      text("tensor bytes : i8[num_q_heads, kv_len]\n"
           "tensor flags : bool[q_len, kv_len]\n"
           "tensor order : i32[kv_len]\n"
           "tensor bias  : f32[num_q_heads, q_len, kv_len]\n"
           "tensor halves : f16[129]\n"
           "tensor brains : bf16[q_len]\n"
           "score_mod = score + bias[h, q_idx, order[kv_idx]] + halves[q_idx - kv_idx + 64] * brains[q_idx]\n"
           "            + 0.01 * bytes[h, order[(kv_idx + q_idx) % kv_len]]\n"
           "mask_mod = flags[q_idx, kv_idx] or bytes[h, q_idx] > 0\n"));
  auto at = [](auto i) { return static_cast<std::size_t>(i); };
  const Meaning meaning{
      .score =
          [&](double s, int, int h, int q, int kv) {
            return s + static_cast<double>(bias[at((h * kQ + q) * kKv + order[at(kv)])]) +
                   halves[at(std::clamp(q - kv + 64, 0, 128))] * brains[at(q)] +
                   0.01 * bytes[at(h * kKv + order[at((kv + q) % kKv)])];
          },
      .mask = [&](int, int h, int q,
                  int kv) { return flags[at(q * kKv + kv)] != 0 || bytes[at(h * kKv + q)] > 0; }};
  CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
}

TEST_CASE("host hooks: every builtin and param reaches the hook") {
  const HostCase host = host_case(text(
      "param shift : i32 = 3\nparam factor : f32 = 0.5\n"
      "score_mod = factor * score + 0.01 * (b + 2 * h + batch + num_q_heads + num_kv_heads + group_size)\n"
      "            + 0.001 * (q_len - kv_len + head_dim)\n"
      "mask_mod = q_idx + shift >= kv_idx\n"));
  HostProblem problem = kProblem;
  problem.params = {{.i32 = -5}, {.f32 = 0.25f}};
  const Meaning meaning{
      .score = [](double s, int b, int h, int,
                  int) { return 0.25 * s + 0.01 * (b + 2 * h + 2 + 4 + 2 + 2) + 0.001 * (75 - 90 + 16); },
      .mask = [](int, int, int q, int kv) { return q - 5 >= kv; }};
  CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
}
