// The tables of the language's words.
#include "compiler/spec/words.h"

#include <algorithm>
#include <array>

#include "compiler/spec/parse/ast.h"

namespace fa {
namespace {

constexpr std::array<BuiltinInfo, 18> kBuiltins = {{
    {"score", Builtin::score, Type::f32},
    {"b", Builtin::b, Type::i32},
    {"h", Builtin::h, Type::i32},
    {"q_idx", Builtin::q_idx, Type::i32},
    {"kv_idx", Builtin::kv_idx, Type::i32},
    {"batch", Builtin::batch, Type::i32},
    {"q_len", Builtin::q_len, Type::i32},
    {"kv_len", Builtin::kv_len, Type::i32},
    {"num_q_heads", Builtin::num_q_heads, Type::i32},
    {"num_kv_heads", Builtin::num_kv_heads, Type::i32},
    {"group_size", Builtin::group_size, Type::i32},
    {"head_dim", Builtin::head_dim, Type::i32},
    {"i0", Builtin::i0, Type::i32},
    {"i1", Builtin::i1, Type::i32},
    {"i2", Builtin::i2, Type::i32},
    {"i3", Builtin::i3, Type::i32},
    {"i4", Builtin::i4, Type::i32},
    {"i5", Builtin::i5, Type::i32},
}};

constexpr std::array<FunctionInfo, 26> kFunctions = {{
    {"min", Func::min, ArgumentKind::numeric, 2, 0},
    {"max", Func::max, ArgumentKind::numeric, 2, 0},
    {"clamp", Func::clamp, ArgumentKind::numeric, 3, 3},
    {"abs", Func::abs, ArgumentKind::numeric, 1, 1},
    {"floor", Func::floor, ArgumentKind::numeric, 1, 1},
    {"ceil", Func::ceil, ArgumentKind::numeric, 1, 1},
    {"round", Func::round, ArgumentKind::numeric, 1, 1},
    {"trunc", Func::trunc, ArgumentKind::numeric, 1, 1},
    {"exp", Func::exp, ArgumentKind::floating, 1, 1},
    {"exp2", Func::exp2, ArgumentKind::floating, 1, 1},
    {"log", Func::log, ArgumentKind::floating, 1, 1},
    {"log2", Func::log2, ArgumentKind::floating, 1, 1},
    {"tanh", Func::tanh, ArgumentKind::floating, 1, 1},
    {"sigmoid", Func::sigmoid, ArgumentKind::floating, 1, 1},
    {"sqrt", Func::sqrt, ArgumentKind::floating, 1, 1},
    {"rsqrt", Func::rsqrt, ArgumentKind::floating, 1, 1},
    {"erf", Func::erf, ArgumentKind::floating, 1, 1},
    {"sin", Func::sin, ArgumentKind::floating, 1, 1},
    {"cos", Func::cos, ArgumentKind::floating, 1, 1},
    {"atan", Func::atan, ArgumentKind::floating, 1, 1},
    {"log1p", Func::log1p, ArgumentKind::floating, 1, 1},
    {"expm1", Func::expm1, ArgumentKind::floating, 1, 1},
    {"atan2", Func::atan2, ArgumentKind::floating, 2, 2},
    {"pow", Func::pow, ArgumentKind::numeric, 2, 2},
    {"ceil_div", Func::ceil_div, ArgumentKind::integer, 2, 2},
    {"popcount", Func::popcount, ArgumentKind::integer, 1, 1},
}};

constexpr std::array<CompositeInfo, 6> kComposites = {{
    {"relu", Composite::relu, ArgumentKind::numeric},
    {"gelu", Composite::gelu, ArgumentKind::floating},
    {"silu", Composite::silu, ArgumentKind::floating},
    {"softplus", Composite::softplus, ArgumentKind::floating},
    {"sign", Composite::sign, ArgumentKind::numeric},
    {"tan", Composite::tan, ArgumentKind::floating},
}};

constexpr std::array<std::string_view, 6> kOtherCallables = {"where", "i32", "f32", "any", "all", "sum"};
constexpr std::array<std::string_view, 6> kOperatorsAndLiterals = {"and",  "or",    "not",
                                                                   "true", "false", "inf"};
constexpr std::array<std::string_view, 8> kDTypes = {"f16", "bf16", "f32", "i32", "i8", "bool", "i64", "u8"};

// What other languages call things that this one has.
struct Alias {
  std::string_view other, ours;
};
constexpr std::array<Alias, 36> kAliases = {{
    {"float", "f32"},      {"float32", "f32"},    {"fp32", "f32"},        {"half", "f16"},
    {"float16", "f16"},    {"fp16", "f16"},       {"bfloat16", "bf16"},   {"int", "i32"},
    {"int32", "i32"},      {"int8", "i8"},        {"boolean", "bool"},    {"int32_t", "i32"},
    {"head", "h"},         {"head_idx", "h"},     {"batch_idx", "b"},     {"batch_size", "batch"},
    {"seq_len", "kv_len"}, {"seqlen_q", "q_len"}, {"seqlen_k", "kv_len"}, {"num_heads", "num_q_heads"},
    {"True", "true"},      {"False", "false"},    {"select", "where"},    {"maximum", "max"},
    {"minimum", "min"},    {"swish", "silu"},     {"fabs", "abs"},        {"cdiv", "ceil_div"},
    {"int64", "i64"},      {"long", "i64"},       {"uint8", "u8"},        {"byte", "u8"},
    {"rint", "round"},     {"power", "pow"},      {"arctan", "atan"},     {"arctan2", "atan2"},
}};

// Functions of other languages that are short to write out in this one, and whose most similar name here
// means something else.
constexpr std::array<Alias, 20> kWrittenOut = {{
    {"sinh", "(exp(x) - exp(-x)) / 2"},
    {"cosh", "(exp(x) + exp(-x)) / 2"},
    {"asin", "atan2(x, sqrt(1 - x * x))"},
    {"acos", "atan2(sqrt(1 - x * x), x)"},
    {"atanh", "(log1p(x) - log1p(-x)) / 2"},
    {"log10", "log(x) / log(10)"},
    {"exp10", "10.0 ** x"},
    {"erfc", "1 - erf(x)"},
    {"square", "x ** 2"},
    {"cbrt", "x ** (1.0 / 3), for x >= 0"},
    {"hypot", "sqrt(x * x + y * y)"},
    {"fmod", "x - trunc(x / y) * y"},
    {"reciprocal", "1.0 / x"},
    {"isnan", "x != x"},
    {"isinf", "abs(x) == inf"},
    {"elu", "where(x > 0, x, expm1(x))"},
    {"leaky_relu", "where(x > 0, x, 0.01 * x)"},
    {"logsigmoid", "-softplus(-x)"},
    {"softsign", "x / (1 + abs(x))"},
    {"mish", "x * tanh(softplus(x))"},
}};

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours cost one each.
int distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = static_cast<int>(i + j);
        continue;
      }
      cost[i][j] = std::min(
          {cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

template <typename Table>
auto find_by_name(const Table& table, std::string_view name) -> decltype(table.data()) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

std::span<const BuiltinInfo> builtins() { return kBuiltins; }
std::span<const FunctionInfo> functions() { return kFunctions; }
const BuiltinInfo* find_builtin(std::string_view name) { return find_by_name(kBuiltins, name); }
const BuiltinInfo& builtin_info(Builtin builtin) { return kBuiltins[static_cast<std::size_t>(builtin)]; }
const FunctionInfo* find_function(std::string_view name) { return find_by_name(kFunctions, name); }
const CompositeInfo* find_composite(std::string_view name) { return find_by_name(kComposites, name); }
const FunctionInfo& function_info(Func func) { return kFunctions[static_cast<std::size_t>(func)]; }

std::string_view written_out(std::string_view function) {
  const auto found = std::find_if(kWrittenOut.begin(), kWrittenOut.end(),
                                  [&](const Alias& row) { return row.other == function; });
  return found == kWrittenOut.end() ? std::string_view{} : found->ours;
}

std::span<const std::string_view> dtype_names() { return kDTypes; }

std::optional<DType> find_dtype(std::string_view name) {
  const auto found = std::find(kDTypes.begin(), kDTypes.end(), name);
  if (found == kDTypes.end()) return std::nullopt;
  return static_cast<DType>(found - kDTypes.begin());
}

std::string_view type_name(Type type) {
  return type == Type::boolean ? "bool" : type == Type::i32 ? "i32" : "f32";
}

Type value_type(DType dtype) {
  if (dtype == DType::boolean) return Type::boolean;
  const bool is_float = dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32;
  return is_float ? Type::f32 : Type::i32;
}

std::vector<std::string_view> callable_names() {
  std::vector<std::string_view> names(kOtherCallables.begin(), kOtherCallables.end());
  for (const FunctionInfo& function : kFunctions) names.push_back(function.name);
  for (const CompositeInfo& composite : kComposites) names.push_back(composite.name);
  return names;
}

bool is_reserved(std::string_view word) {
  const auto in = [&](const auto& list) { return std::find(list.begin(), list.end(), word) != list.end(); };
  return find_builtin(word) != nullptr || in(callable_names()) || in(kOperatorsAndLiterals) || in(kDTypes) ||
         item_kind(word).has_value();
}

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && text.size() <= kMaxNameLength && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || digit(c); });
}

std::string closest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kMaxNameLength) return {};
  const auto offered = [&](std::string_view name) {
    return std::find(candidates.begin(), candidates.end(), name) != candidates.end();
  };
  for (const Alias& alias : kAliases) {
    if (alias.other == word && offered(alias.ours)) return std::string(alias.ours);
  }
  std::string_view best;
  int best_distance = std::min(3, (static_cast<int>(word.size()) + 1) / 2);  // nearer than this
  for (const std::string_view candidate : candidates) {
    const int d = distance(word, candidate);
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  if (!best.empty()) return std::string(best);
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > word.size() && candidate.starts_with(word) && candidate[word.size()] == '_') {
      return std::string(candidate);
    }
  }
  return {};
}

}  // namespace fa
