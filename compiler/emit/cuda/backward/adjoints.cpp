#include "compiler/emit/cuda/backward/adjoints.h"

#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "compiler/analysis/code_size.h"
#include "compiler/emit/cuda/expr.h"
#include "compiler/emit/cuda/hooks.h"
#include "templates/params.h"

namespace fa {
namespace {

constexpr int kMostSums = 16;  // iterations of a read's reductions that have registers of their own

int iterations(const Adjoint& adjoint) {
  std::int64_t count = 1;
  for (const DerivedLoop& loop : adjoint.loops)
    count = std::min<std::int64_t>(count * loop.count, kMaxLength);
  return static_cast<int>(count);
}

std::string_view place_of_sums(const Adjoint& adjoint) {
  if (iterations(adjoint) > kMostSums) return "element";
  switch (adjoint.place) {
    case Per::call:
    case Per::head:
      return "head";
    case Per::row:
      return "row";
    case Per::column:
      return "column";
    case Per::distance:
      return adjoint.loops.empty() ? "distance" : "element";
    case Per::element:
      break;
  }
  return "element";
}

class AdjointPrinter {
 public:
  AdjointPrinter(const CheckedSpec& spec, const HookIr& hooks, const Adjoint& adjoint, std::string name,
                 PartLowering& lowering)
      : spec_(spec), hooks_(hooks), adjoint_(adjoint), name_(std::move(name)), lowering_(lowering) {
    for (std::size_t i = 0; i < adjoint.loops.size(); ++i) {
      iteration_ += fmt::format(", i.index[{}]", i);
      indices_ += fmt::format("{}i{}", i == 0 ? "" : ", ", i);
    }
  }

  std::string print() {
    const std::string loops = print_loops(), value = text_of(adjoint_.value, "value"),
                      element = print_element();
    const int size = adjoint_.value.function == nullptr
                         ? 0
                         : code_size(*adjoint_.value.function, spec_.dtype != DType::f32);
    const int gradient = adjoint_.of == Adjoint::Of::param ? adjoint_.index : kMaxParams + adjoint_.index;
    return functions_ + fmt::format(R"(// {what} {name_in_spec}
struct {name} {{
  static constexpr int kGradient = {gradient};
  static constexpr AdjointPlace kPlace = AdjointPlace::{place};
  static constexpr int kIterations = {iterations};
  static constexpr int kSize = {size};
  using Iteration = IterationOf<{loop_count}>;

  template <class Body>
  static __device__ __forceinline__ void for_each_iteration(const CallParams& p, int b, Body body) {{
{loops}  }}

  static __device__ __forceinline__ float value(float score, const CallParams& p, int b, int h, int q_idx,
                                                int kv_idx, const Iteration& i) {{
    return {value};
  }}

  static __device__ __forceinline__ long long element(const CallParams& p, int b, int h, int q_idx,
                                                      int kv_idx, const Iteration& i) {{
    [[maybe_unused]] const float score = 0.0f;
    return {element};
  }}
}};

)",
                                    fmt::arg("what", adjoint_.of == Adjoint::Of::param ? "param" : "tensor"),
                                    fmt::arg("name_in_spec", adjoint_.name), fmt::arg("name", name_),
                                    fmt::arg("gradient", gradient),
                                    fmt::arg("place", place_of_sums(adjoint_)),
                                    fmt::arg("iterations", iterations(adjoint_)), fmt::arg("size", size),
                                    fmt::arg("loops", loops), fmt::arg("loop_count", adjoint_.loops.size()),
                                    fmt::arg("value", value), fmt::arg("element", element));
  }

 private:
  /// Prints the function before the struct and returns its C++ name.
  std::string declare(const llvm::Function& function, std::string_view part) {
    const std::string name = fmt::format("{}_{}", name_, part);
    functions_ +=
        print_function(function, name, {.fast_math = spec_.dtype != DType::f32, .fast_division = true});
    functions_ += "\n";
    return name;
  }

  /// An expression of the arguments of `value` and `element`.
  std::string text_of(const Derived& derived, std::string_view part) {
    if (derived.function != nullptr)
      return fmt::format("{}(score, b, h, q_idx, kv_idx{}{})", declare(*derived.function, part),
                         print_uniforms(hooks_.args, "b"), iteration_);
    const Expr& literal = *derived.expr;
    if (literal.type != Type::f32) return fmt::format("{}", literal.int_value);
    return fmt::format("static_cast<float>({})", static_cast<double>(literal.float_value));
  }

  /// What is the same for the whole call.
  std::string text_of_call(const Expr& expr, const std::string& part) {
    if (expr.kind == ExprKind::literal) return fmt::format("{}", expr.int_value);
    return fmt::format("{}(0.0f, 0, 0, 0, 0{})",
                       declare(*lowering_.lower(fmt::format("{}_{}", name_, part), expr), part),
                       print_uniforms(hooks_.args, "0"));
  }

  std::string print_loops() {
    std::string text, indent = "    ", number = "0";
    for (std::size_t i = 0; i < adjoint_.loops.size(); ++i) {
      const DerivedLoop& loop = adjoint_.loops[i];
      // Unrolled where sums are registers, which have no index at run time.
      text += fmt::format("#pragma unroll {}\n", iterations(adjoint_) <= kMostSums ? loop.count : 1);
      const std::string end =
          loop.range ? fmt::format(" && i{} < {}", i, text_of_call(*loop.range, fmt::format("range_{}", i)))
                     : "";
      text += fmt::format("{0}for (int i{1} = 0; i{1} < {2}{3}; ++i{1})\n", indent, i, loop.count, end);
      number = i == 0 ? fmt::format("i{}", i) : fmt::format("({}) * {} + i{}", number, loop.count, i);
      indent += "  ";
    }
    return text + fmt::format("{}body(Iteration{{{}, {{{}}}}});\n", indent, number,
                              indices_.empty() ? "0" : indices_);
  }

  std::string print_element() {
    std::string text = "0";
    for (std::size_t d = 0; d < adjoint_.indices.size(); ++d) {
      const std::string index = text_of(adjoint_.indices[d], fmt::format("index_{}", d));
      if (d == 0) {
        text = fmt::format("static_cast<long long>({})", index);
        continue;
      }
      const Expr& extent = *spec_.tensors[static_cast<std::size_t>(adjoint_.index)].extents[d];
      text = fmt::format("({}) * {} + {}", text, text_of_call(extent, fmt::format("extent_{}", d)), index);
    }
    return text;
  }

  const CheckedSpec& spec_;
  const HookIr& hooks_;
  const Adjoint& adjoint_;
  const std::string name_;
  PartLowering& lowering_;
  std::string iteration_, indices_;  // ", i.index[0], i.index[1]"; "i0, i1"
  std::string functions_;
};

}  // namespace

PrintedAdjoints print_adjoints(const CheckedSpec& spec, const HookIr& hooks,
                               const std::vector<Adjoint>& adjoints, std::string_view prefix,
                               PartLowering& lowering) {
  PrintedAdjoints printed;
  for (std::size_t i = 0; i < adjoints.size(); ++i) {
    const std::string name = fmt::format("{}{}", prefix, i);
    printed.functions += AdjointPrinter(spec, hooks, adjoints[i], name, lowering).print();
    printed.list += (i == 0 ? "" : ", ") + name;
  }
  printed.list = fmt::format("AdjointList<{}>", printed.list);
  return printed;
}

BackwardNeeds needs_of(const std::vector<Adjoint>& adjoints, const TileClasses& classes) {
  BackwardNeeds needs;
  needs.has_tile_map = classes.map.has_value();
  for (const Adjoint& adjoint : adjoints) {
    const std::string_view place = place_of_sums(adjoint);
    needs.distances += place == "distance" ? 1 : 0;
    needs.rows |= place == "row";
    if (place == "head") needs.registers += iterations(adjoint);
    if (place == "column") needs.registers += 2 * iterations(adjoint);  // a thread has two keys
  }
  return needs;
}

}  // namespace fa
