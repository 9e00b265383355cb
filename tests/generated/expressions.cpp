#include "tests/generated/expressions.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "compiler/spec/words.h"

namespace fa::test {
namespace {

constexpr int kMostParams = 10;
constexpr int kMostFunctions = 4;

constexpr const char* kDistance[] = {"(q_idx - kv_idx)", "(q_idx + (kv_len - q_len) - kv_idx)",
                                     "(kv_idx - q_idx)"};

/// An index into a dimension, and the dimension's extent.
struct Dimension {
  std::string index, extent;
};

}  // namespace

std::string written(const char* form, std::initializer_list<Part> parts) {
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  for (const Part& part : parts) values.push_back(part.text);
  return fmt::vformat(form, values);
}

std::string Expressions::param(std::string_view type, std::string_view value) {
  const std::string name = fmt::format("p{}", params_++);
  declarations_ += fmt::format("param {} : {} = {}\n", name, type, value);
  return name;
}

std::string Expressions::tensor(std::string_view type, const std::string& extents,
                                const std::string& example) {
  const std::string name = fmt::format("t{}", tensors_++);
  declarations_ +=
      fmt::format("tensor {} : {}[{}]{}\n", name, type, extents, example.empty() ? "" : " = " + example);
  return name;
}

std::string Expressions::index(Over over) {
  switch (over) {
    case Over::head:
      return below(2) == 0 ? "h" : "b";
    case Over::row:
      return "q_idx";
    case Over::column:
      return "kv_idx";
    case Over::element:
      return below(2) == 0 ? "q_idx" : "kv_idx";
    case Over::distance:
      break;
  }
  return pick(kDistance);
}

std::string Expressions::table(std::string_view type, int rank, Over over) {
  if (tensors_ >= most_tensors_) return type == "bool" ? "(h % 2 == 0)" : "1";
  const auto dimension = [&](Over of) -> Dimension {
    switch (of) {
      case Over::head:
        switch (below(4)) {
          case 0:
            return {"b", "batch"};
          case 1:
            return {"h / group_size", "num_kv_heads"};
          case 2:
            return {"h % 3", "3"};
          default:
            return {"h", "num_q_heads"};
        }
      case Over::row:
        switch (below(4)) {
          case 0:
            return {"q_idx / 16", "ceil_div(q_len, 16)"};
          case 1:
            return {"q_idx", "max(q_len, kv_len)"};
          case 2:
            return {"q_idx % 9", "9"};
          default:
            return {"q_idx", "q_len"};
        }
      case Over::column:
        switch (below(4)) {
          case 0:
            return {"kv_idx / 32", "ceil_div(kv_len, 32)"};
          case 1:
            return {"kv_idx", "q_len + kv_len"};
          case 2:
            return {"kv_idx", "40"};  // clamped
          default:
            return {"kv_idx", "kv_len"};
        }
      case Over::distance:
        return below(2) == 0 ? Dimension{fmt::format("clamp({}, -20, 20) + 20", pick(kDistance)), "41"}
                             : Dimension{fmt::format("abs({})", pick(kDistance)), "max(q_len, kv_len)"};
      case Over::element:
        break;
    }
    return {fmt::format("({})", whole(Over::element, 1)), "64"};
  };
  std::vector<Dimension> dimensions;
  for (int i = 0; i < rank; ++i) {
    Over of = Over::head;
    if (i + 1 == rank) of = over == Over::element && rank > 1 ? Over::column : over;
    if (i + 2 == rank && over == Over::element) of = Over::row;
    dimensions.push_back(dimension(of));
  }
  std::string extents, indices;
  for (const Dimension& d : dimensions) {
    extents += (extents.empty() ? "" : ", ") + d.extent;
    indices += (indices.empty() ? "" : ", ") + d.index;
  }
  return fmt::format("{}[{}]", tensor(type, extents), indices);
}

std::string Expressions::leaf_real(Over over) {
  if (!score_.empty() && over == Over::element && below(3) == 0) return std::string(score_);
  if (!parameters_.empty() && below(2) == 0) return pick(parameters_);
  if (has_loop() && below(3) == 0) return fmt::format("(0.25 * f32({}))", open_loops_.back());
  switch (below(7)) {
    case 0:
      return fmt::format("{:.2f}", below(400) / 100.0 - 2);
    case 1:
      if (params_ < kMostParams) return param("f32", fmt::format("{:.2f}", below(300) / 100.0 - 1));
      return "0.75";
    case 2: {
      constexpr const char* kTypes[] = {"f32", "f16", "bf16"};
      const char* const type = pick(kTypes);
      return table(type, 1 + below(2), over);
    }
    case 3:
      return written("f32({} % {}) * 0.125", {index(over), 5 + below(12)});
    case 4:
      return fmt::format("f32({}) / 100.0", index(over));
    case 5:
      return fmt::format("where({}, 1.5, -0.5)", condition(over, 0));
    default:
      return fmt::format("f32({}) * 0.01", index(over));
  }
}

std::string Expressions::guarded(std::string_view function, const std::string& x) const {
  if (function == "exp") return fmt::format("exp(-abs({}))", x);
  if (function == "exp2") return fmt::format("exp2(clamp({}, -3.0, 2.0))", x);
  if (function == "log" || function == "log2") return fmt::format("{}(abs({}) + 1.0)", function, x);
  if (function == "log1p") return fmt::format("log1p(abs({}))", x);
  if (function == "sqrt" || function == "rsqrt" || function == "pow")
    return fmt::format("{}(abs({}) + 0.5)", function, x);
  return fmt::format("{}(clamp({}, -2.0, 2.0))", function, x);
}

std::string Expressions::call(std::string_view function, Over over, int depth) {
  const auto a = [&] { return real(over, depth - 1); };
  if (function == "min" || function == "max") return written("{}({}, {})", {function, a(), a()});
  if (function == "clamp") return fmt::format("clamp({}, -1.5, 2.5)", a());
  if (function == "abs" || function == "floor") return fmt::format("{}({})", function, a());
  const FunctionInfo* info = find_function(function);
  if (info->arguments == ArgumentKind::integer && info->max_args == 1)
    return fmt::format("f32({}({}) % 8)", function, whole(over, depth - 1));
  if (info->arguments == ArgumentKind::integer)
    return written("f32({}({}, {}) % 8)", {function, whole(over, depth - 1), 1 + below(9)});
  std::string rest;
  for (int i = 1; i < info->min_args; ++i) rest += fmt::format(", clamp({}, -1.5, 1.5)", a());
  std::string text = guarded(function, a());
  if (!rest.empty()) text.insert(text.size() - 1, rest);
  return text;
}

std::string Expressions::power(Over over, int depth) {
  constexpr const char* kExponents[] = {"2", "3", "-1", "0.5", "1.5", "-0.75"};
  return written("((clamp(abs({}), 0.0, 2.0) + 0.5) ** {})", {real(over, depth - 1), pick(kExponents)});
}

std::string Expressions::composite(Over over, int depth) {
  constexpr const char* kComposites[] = {"relu", "gelu", "silu", "softplus", "sign"};
  if (below(6) == 0) return fmt::format("tan(clamp({}, -1.0, 1.0))", real(over, depth - 1));
  return written("{}({})", {pick(kComposites), real(over, depth - 1)});
}

std::string Expressions::own_function(Over over, int depth) {
  if (functions_ >= kMostFunctions || !parameters_.empty()) return leaf_real(over);
  const std::string name = fmt::format("own{}", functions_++);
  const std::string_view score = std::exchange(score_, {});  // a function has none
  const std::size_t hidden = std::exchange(hidden_loops_, open_loops_.size());
  parameters_ = {"x", "y"};
  const std::string body = real(over, depth - 1);
  parameters_.clear();
  hidden_loops_ = hidden;
  score_ = score;
  declarations_ += fmt::format("let {}(x, y) = {}\n", name, body);
  return written("{}({}, {})", {name, real(over, depth - 1), real(over, depth - 1)});
}

std::string Expressions::range() {
  if (reduction_ > 32 || params_ >= kMostParams || below(3) != 0) return std::to_string(reduction_);
  return fmt::format("{} max {}", param("i32", std::to_string(1 + below(reduction_))), reduction_);
}

std::string Expressions::reduce(std::string_view kind, const std::string& body_type, Over over, int depth) {
  const std::string count = range();
  const std::string name = fmt::format("i{}n", loops_++);
  open_loops_.push_back(name);
  const std::string body = body_type == "bool"  ? condition(over, depth - 1)
                           : body_type == "i32" ? whole(over, depth - 1)
                                                : real(over, depth - 1);
  open_loops_.pop_back();
  return fmt::format("{}({} < {}: {})", kind, name, count, body);
}

std::string Expressions::real(Over over, int depth) {
  if (!wanted_.empty()) {
    const std::string function = std::move(wanted_);
    wanted_.clear();
    return call(function, over, std::max(depth, 1));
  }
  if (depth <= 0 || below(6) == 0) return leaf_real(over);
  const auto a = [&] { return real(over, depth - 1); };
  switch (below(15)) {
    case 0:
    case 1:
      return written("({} + {})", {a(), a()});
    case 2:
      return written("({} - {})", {a(), a()});
    case 3:
      return written("(clamp({}, -2.0, 2.0) * {})", {a(), a()});
    case 4:
      return written("({} / (1.5 + abs({})))", {a(), a()});
    case 5:
      return written("where({}, {}, {})", {condition(over, depth - 1), a(), a()});
    case 6:
      if (may_reduce()) {
        constexpr const char* kKinds[] = {"sum", "min", "max"};
        return fmt::format("({} * 0.1)", reduce(pick(kKinds), "f32", over, depth));
      }
      return a();
    case 7:
      return fmt::format("f32(clamp({}, -50, 50)) * 0.05", whole(over, depth - 1));
    case 8:
      return power(over, depth);
    case 9:
      return composite(over, depth);
    case 10:
      return own_function(over, depth);
    default: {
      const auto all = functions();
      return call(pick(all).name, over, depth);
    }
  }
}

std::string Expressions::whole(Over over, int depth) {
  if (depth <= 0 || below(6) == 0) {
    if (has_loop() && below(2) == 0) return open_loops_.back();
    switch (below(6)) {
      case 0:
        return std::to_string(below(100) - 10);
      case 1:
        if (params_ < kMostParams) return param("i32", std::to_string(below(40) - 4));
        return "7";
      case 2: {
        constexpr const char* kTypes[] = {"i32", "i8", "u8", "i64"};
        const char* const type = pick(kTypes);
        return table(type, 1 + below(2), over);
      }
      case 3: {
        constexpr const char* kLengths[] = {"q_len",       "kv_len", "group_size",
                                            "num_q_heads", "batch",  "head_dim"};
        return pick(kLengths);
      }
      default:
        return index(over);
    }
  }
  const auto a = [&] { return whole(over, depth - 1); };
  const auto small = [&] { return 1 + below(15); };
  switch (below(16)) {
    case 0:
      return written("({} + {})", {a(), a()});
    case 1:
      return written("({} - {})", {a(), a()});
    case 2:
      return written("({} * {})", {a(), small()});
    case 3:
      return written("({} / {})", {a(), below(3) == 0 ? a() : std::to_string(small())});
    case 4:
      return written("({} % {})", {a(), below(3) == 0 ? a() : std::to_string(small())});
    case 5:
      return written("({} {} {})", {a(), below(2) == 0 ? "<<" : ">>", below(5)});
    case 6:
      return written("({} & {})", {a(), a()});
    case 7:
      return written("({} | {})", {a(), a()});
    case 8:
      return written("({} ^ {})", {a(), a()});
    case 9:
      return written("{}({})", {below(2) == 0 ? "-" : "~", a()});
    case 10:
      return written("{}({}, {})", {below(2) == 0 ? "min" : "max", a(), a()});
    case 11:
      return written("clamp({}, {}, {})", {a(), -below(20), below(60)});
    case 12:
      return fmt::format("abs({})", a());
    case 13:
      return written("where({}, {}, {})", {condition(over, depth - 1), a(), a()});
    case 14:
      return fmt::format("i32({})", real(over, depth - 1));
    default:
      if (may_reduce()) {
        constexpr const char* kKinds[] = {"sum", "min", "max"};
        return reduce(pick(kKinds), "i32", over, depth);
      }
      return written("ceil_div({}, {})", {a(), small()});
  }
}

std::string Expressions::condition(Over over, int depth) {
  constexpr const char* kCompare[] = {"<", "<=", ">", ">=", "==", "!="};
  if (depth > 0) {
    switch (below(8)) {
      case 0:
        return written("({} and {})", {condition(over, depth - 1), condition(over, depth - 1)});
      case 1:
        return written("({} or {})", {condition(over, depth - 1), condition(over, depth - 1)});
      case 2:
        return fmt::format("(not {})", condition(over, depth - 1));
      case 3:
        return written("({} {} {})",
                       {condition(over, depth - 1), below(2) == 0 ? "==" : "!=", condition(over, depth - 1)});
      case 4:
        return table("bool", 1 + below(2), over);
      case 5:
        return written("({} {} {})", {real(over, depth - 1), pick(kCompare), real(over, depth - 1)});
      case 6:
        if (may_reduce()) return reduce(below(2) == 0 ? "any" : "all", "bool", over, depth);
        break;
      default:
        break;
    }
  }
  const std::string left = whole(over, depth > 0 ? depth - 1 : 0);
  return written("({} % 7 {} {})", {left, pick(kCompare), below(7)});
}

}  // namespace fa::test
