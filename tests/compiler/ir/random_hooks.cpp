#include "tests/compiler/ir/random_hooks.h"

#include <fmt/format.h>

#include <array>

namespace fa::test {
namespace {

constexpr const char* kHead = R"(attention random
head_dim 64
dtype f32
param n : i32 = {}
param w : i32 = {}
param x : f32 = {:.3f}
tensor row_table : i32[q_len]
tensor layout : bool[num_q_heads, ceil_div(q_len, 4), kv_len]
tensor column_table : f32[kv_len]
tensor bytes : i8[batch, 5]
tensor halves : f16[num_q_heads, q_len + kv_len]
tensor brains : bf16[3, batch, q_len, kv_len]
score_mod = {}
mask_mod = {}
)";

}  // namespace

std::string RandomHooks::spec(bool float_compare) {
  const std::array<int, 8> numbers = {0, 1, -1, 3, 7, -5, 100, 2147483647};
  const int n = numbers[static_cast<std::size_t>(below(8))];
  const int w = numbers[static_cast<std::size_t>(below(8))];
  float_compare_ = float_compare;
  score_ = true;
  const std::string score = below(4) == 0 ? fmt::format("score * ({}) + ({})", real(2), real(3)) : real(4);
  score_ = false;
  return fmt::format(kHead, n, w, below(400) / 100.0 - 2, score, boolean(4));
}

Element RandomHooks::element(const ProblemSize& size) {
  return {below(size.batch), below(size.num_q_heads), below(size.q_len), below(size.kv_len)};
}

std::string RandomHooks::integer(int depth) {
  if (depth <= 0 || below(6) == 0) {
    if (loops_ > 0 && below(3) == 0) return loop_name();
    const std::array<const char*, 14> leaves = {"q_idx", "kv_idx", "q_idx",  "kv_idx",     "b",
                                                "h",     "q_len",  "kv_len", "group_size", "n",
                                                "w",     "3",      "64",     "0x7ffffff0"};
    return leaves[static_cast<std::size_t>(below(14))];
  }
  const auto a = [&] { return integer(depth - 1); };
  switch (below(23)) {
    case 20:
      return fmt::format("popcount({})", a());
    case 21:
      return fmt::format("({} ** {})", a(), below(6));
    case 22:
      return fmt::format("{}({})", below(2) == 0 ? "sign" : "relu", a());
    case 0:
    case 1:
      return fmt::format("({} + {})", a(), a());
    case 2:
    case 3:
      return fmt::format("({} - {})", a(), a());
    case 4:
      return fmt::format("({} * {})", a(), a());
    case 5:
      return fmt::format("({} / {})", a(), a());
    case 6:
      return fmt::format("({} % {})", a(), a());
    case 7:
      return fmt::format("({} / {})", a(), 1 + below(9));
    case 8:
      return fmt::format("({} % {})", a(), 1 << below(6));
    case 9:
      return fmt::format("({} {} {})", a(), below(2) == 0 ? "<<" : ">>", a());
    case 10:
      return fmt::format("({} {} {})", a(), below(2) == 0 ? "&" : "|", a());
    case 11:
      return fmt::format("({} ^ {})", a(), a());
    case 12:
      return fmt::format("({}{})", below(2) == 0 ? "-" : "~", a());
    case 13:
      return fmt::format("{}({}, {})", below(2) == 0 ? "min" : "max", a(), a());
    case 14:
      return fmt::format("clamp({}, {}, {})", a(), -below(9), below(9));
    case 15:
      return fmt::format("abs({})", a());
    case 16:
      return fmt::format("ceil_div({}, {})", a(), below(3) == 0 ? a() : std::to_string(1 + below(9)));
    case 17:
      return fmt::format("where({}, {}, {})", boolean(depth - 1), a(), a());
    case 18:
      return below(2) == 0 ? fmt::format("row_table[{}]", a()) : fmt::format("bytes[b, {}]", a());
    default:
      break;
  }
  const std::array<int, 4> counts = {2, 5, 33, 40};
  const int count = counts[static_cast<std::size_t>(below(4))];
  if (iterations_ * count > 200) return integer(depth - 1);
  ++loops_;
  iterations_ *= count;
  const std::string name = loop_name();
  const std::array<const char*, 3> kinds = {"sum", "min", "max"};
  const std::string body = integer(depth - 1);
  --loops_;
  iterations_ /= count;
  return fmt::format("{}({} < {}: {})", kinds[static_cast<std::size_t>(below(3))], name, count, body);
}

std::string RandomHooks::boolean(int depth) {
  const std::array<const char*, 6> compares = {"<", "<=", ">", ">=", "==", "!="};
  const char* compare = compares[static_cast<std::size_t>(below(6))];
  if (depth <= 1) return fmt::format("({} {} {})", integer(depth), compare, integer(depth));
  switch (below(10)) {
    case 0:
    case 1:
      return fmt::format("({} and {})", boolean(depth - 1), boolean(depth - 1));
    case 2:
      return fmt::format("({} or {})", boolean(depth - 1), boolean(depth - 1));
    case 3:
      return fmt::format("(not {})", boolean(depth - 1));
    case 4:
      return fmt::format("({} {} {})", boolean(depth - 1), below(2) == 0 ? "==" : "!=", boolean(depth - 1));
    case 5:
      return fmt::format("layout[h, q_idx / 4, {}]", integer(depth - 1));
    case 6: {
      const int count = below(2) == 0 ? 6 : 40;
      if (iterations_ * count > 200) break;
      ++loops_;
      iterations_ *= count;
      const std::string name = loop_name(), body = boolean(depth - 1);
      --loops_;
      iterations_ /= count;
      return fmt::format("{}({} < {}: {})", below(2) == 0 ? "any" : "all", name, count, body);
    }
    case 7:
      if (float_compare_) return fmt::format("({} {} {})", real(depth - 1), compare, real(depth - 1));
      break;
    default:
      break;
  }
  return fmt::format("({} {} {})", integer(depth - 1), compare, integer(depth - 1));
}

std::string RandomHooks::small_integer(int depth) {
  if (depth <= 0) return below(2) == 0 ? "q_idx" : "kv_idx";
  const auto a = [&] { return small_integer(depth - 1); };
  switch (below(7)) {
    case 0:
      return fmt::format("({} + {})", a(), a());
    case 1:
      return fmt::format("({} - {})", a(), a());
    case 2:
      return fmt::format("abs({})", a());
    case 3:
      return fmt::format("min({}, {})", a(), a());
    case 4:
      return fmt::format("clamp({}, -{}, {})", a(), below(9), below(9));
    case 5:
      return fmt::format("({} % {})", integer(depth - 1), 5 + below(9));
    default:
      return fmt::format("(-{})", a());
  }
}

std::string RandomHooks::real(int depth) {
  if (depth <= 0 || below(7) == 0) {
    if (score_ && below(2) == 0) return "score";
    if (loops_ > 0 && below(3) == 0) return fmt::format("f32({})", loop_name());
    switch (below(6)) {
      case 0:
        return "x";
      case 1:
        return fmt::format("{:.2f}", below(300) / 100.0);
      case 2:
        return "column_table[kv_idx]";
      case 3:
        return "halves[h, kv_idx - q_idx + q_len]";
      case 4:
        return fmt::format("brains[{}, b, q_idx, kv_idx]", below(3));
      default:
        return "f32(h)";
    }
  }
  const auto a = [&] { return real(depth - 1); };
  switch (below(21)) {
    case 16: {
      const std::array<const char*, 4> written = {"relu", "gelu", "silu", "softplus"};
      return fmt::format("{}({})", written[static_cast<std::size_t>(below(4))], a());
    }
    case 17:
      return below(2) == 0 ? fmt::format("log1p(abs({}))", a()) : fmt::format("expm1(-abs({}))", a());
    case 18:
      return below(2) == 0 ? fmt::format("atan({})", a()) : fmt::format("atan2({}, abs({}) + 0.5)", a(), a());
    case 19:
      return fmt::format("(abs({}) + 0.25) ** clamp({}, -1.5, 1.5)", a(), a());
    case 20:
      return fmt::format("tan(clamp({}, -1.2, 1.2))", a());
    case 0:
      return fmt::format("({} + {})", a(), a());
    case 1:
      return fmt::format("({} - {})", a(), a());
    case 2:
      return fmt::format("(tanh({}) * {})", a(), a());
    case 3:
      return fmt::format("({} / (1.5 + abs({})))", a(), a());
    case 4:
      return fmt::format("f32({})", small_integer(depth - 1));
    case 5:
      return fmt::format("({} * f32({}))", below(2) == 0 ? "0.25" : "sigmoid(x)", small_integer(2));
    case 6:
      return fmt::format("{}({}, {})", below(2) == 0 ? "min" : "max", a(), a());
    case 7:
      return fmt::format("clamp({}, -2.5, 3.5)", a());
    case 8:
      return fmt::format("where({}, {}, {})", boolean(depth - 1), a(), a());
    case 9:
      return fmt::format("{}({})", below(2) == 0 ? "tanh" : "sigmoid", a());
    case 10:
      return fmt::format("{}({})", below(2) == 0 ? "sin" : "cos", a());
    case 11:
      return fmt::format("{}(-abs({}))", below(2) == 0 ? "exp" : "exp2", a());
    case 12:
      return fmt::format("{}(abs({}) + 1.0)", below(2) == 0 ? "log" : "log2", a());
    case 13:
      return fmt::format("{}(abs({}) + 1.0)", below(2) == 0 ? "sqrt" : "rsqrt", a());
    case 14:
      return fmt::format("erf({})", a());
    default:
      break;
  }
  const int count = below(2) == 0 ? 3 : 40;
  if (iterations_ * count > 100) return a();
  ++loops_;
  iterations_ *= count;
  const std::string name = loop_name(), body = real(depth - 1);
  --loops_;
  iterations_ /= count;
  const std::array<const char*, 3> kinds = {"sum", "min", "max"};
  return fmt::format("({}({} < {}: {}) / 8.0)", kinds[static_cast<std::size_t>(below(3))], name, count, body);
}

}  // namespace fa::test
