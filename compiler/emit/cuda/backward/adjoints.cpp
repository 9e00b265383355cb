#include "compiler/emit/cuda/backward/adjoints.h"

#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "compiler/analysis/code_size.h"
#include "compiler/derive/elements.h"
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

int number_of(const Adjoint& adjoint) {
  return adjoint.of == Adjoint::Of::param ? adjoint.index : kMaxParams + adjoint.index;
}

/// The dimensions of an adjoint's element that are the same for all of a head, if the others make a small table.
struct Table {
  std::size_t leading = 0;
  int elements = 0;  // 0: none
};

Table table_of(const CheckedSpec& spec, const Adjoint& adjoint) {
  constexpr std::int64_t kMostElements = 1024;
  if (place_of_sums(adjoint) != "element" || !adjoint.loops.empty()) return {};
  Table table;
  while (adjoint.indices[table.leading].depends.sides() == 0) ++table.leading;
  std::int64_t elements = 1;
  const auto& extents = spec.tensors[static_cast<std::size_t>(adjoint.index)].extents;
  for (std::size_t d = table.leading; d < extents.size(); ++d) {
    if (extents[d]->kind != ExprKind::literal) return {};
    elements *= extents[d]->int_value;
    if (elements > kMostElements) return {};
  }
  table.elements = static_cast<int>(elements);
  return table;
}

/// The tables of all adjoints of score_mod. Together they leave room for tiles. A table is added to by atomic
/// additions of f32, so that where bits repeat there is none.
std::vector<Table> tables_of(const CheckedSpec& spec, const std::vector<Adjoint>& adjoints,
                             bool deterministic) {
  constexpr int kMostFloats = 2048;
  std::vector<Table> tables(adjoints.size());
  int floats = 0;
  for (std::size_t i = 0; i < adjoints.size() && !deterministic; ++i) {
    const Table table = table_of(spec, adjoints[i]);
    if (floats + table.elements > kMostFloats) continue;
    floats += table.elements;
    tables[i] = table;
  }
  return tables;
}

/// How an adjoint is added up.
struct AdjointSums {
  GradientElements elements;
  Table table;
  bool deterministic = false;
};

class AdjointPrinter {
 public:
  AdjointPrinter(const CheckedSpec& spec, const HookIr& hooks, const Adjoint& adjoint,
                 const AdjointSums& sums, std::string name, PartLowering& lowering)
      : spec_(spec),
        hooks_(hooks),
        adjoint_(adjoint),
        sums_(sums),
        name_(std::move(name)),
        lowering_(lowering) {
    for (std::size_t i = 0; i < adjoint.loops.size(); ++i) {
      iteration_ += fmt::format(", i.index[{}]", i);
      indices_ += fmt::format("{}i{}", i == 0 ? "" : ", ", i);
    }
  }

  std::string print() {
    const std::string loops = print_loops(), value = text_of(adjoint_.value, "value"),
                      element = print_element(0, adjoint_.indices.size());
    const std::string table = print_table();
    const int size = adjoint_.value.function == nullptr
                         ? 0
                         : code_size(*adjoint_.value.function, spec_.dtype != DType::f32);
    return functions_ +
           fmt::format(R"(// {what} {name_in_spec}
struct {name} {{
  static constexpr int kGradient = {gradient};
  static constexpr AdjointPlace kPlace = AdjointPlace::{place};
  static constexpr int kIterations = {iterations};
  static constexpr int kSize = {size};
  static constexpr bool kRepeats = {repeats};
  static constexpr bool kIsOnce = {is_once}, kIsOfBatch = {of_batch}, kIsOfHead = {of_head};
  static constexpr int kTable = {table_size};
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
{table}}};

)",
                       fmt::arg("what", adjoint_.of == Adjoint::Of::param ? "param" : "tensor"),
                       fmt::arg("name_in_spec", adjoint_.name), fmt::arg("name", name_),
                       fmt::arg("gradient", number_of(adjoint_)), fmt::arg("place", place_of_sums(adjoint_)),
                       fmt::arg("iterations", iterations(adjoint_)), fmt::arg("size", size),
                       fmt::arg("loops", loops), fmt::arg("loop_count", adjoint_.loops.size()),
                       fmt::arg("value", value), fmt::arg("element", element), fmt::arg("table", table),
                       fmt::arg("table_size", sums_.table.elements), fmt::arg("repeats", sums_.deterministic),
                       fmt::arg("is_once", sums_.elements.is_once),
                       fmt::arg("of_batch", sums_.elements.of_batch),
                       fmt::arg("of_head", sums_.elements.of_head));
  }

 private:
  /// Prints the function before the struct, unless it has been, and returns its C++ name.
  std::string declare(const llvm::Function& function, std::string_view part) {
    const std::string name = fmt::format("{}_{}", name_, part);
    if (!declared_.insert(name).second) return name;
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

  /// The element's number in the dimensions from `first` up to `end`.
  std::string print_element(std::size_t first, std::size_t end) {
    std::string text = "0";
    for (std::size_t d = first; d < end; ++d) {
      const std::string index = text_of(adjoint_.indices[d], fmt::format("index_{}", d));
      if (d == first) {
        text = fmt::format("static_cast<long long>({})", index);
        continue;
      }
      const Expr& extent = *spec_.tensors[static_cast<std::size_t>(adjoint_.index)].extents[d];
      text = fmt::format("({}) * {} + {}", text, text_of_call(extent, fmt::format("extent_{}", d)), index);
    }
    return text;
  }

  std::string print_table() {
    if (sums_.table.elements == 0) return {};
    return fmt::format(R"(
  static __device__ __forceinline__ long long first_of_table(const CallParams& p, int b, int h) {{
    [[maybe_unused]] const float score = 0.0f;
    [[maybe_unused]] const int q_idx = 0, kv_idx = 0;
    return ({}) * {};
  }}

  static __device__ __forceinline__ int place_in_table(const CallParams& p, int b, int h, int q_idx,
                                                       int kv_idx) {{
    [[maybe_unused]] const float score = 0.0f;
    return static_cast<int>({});
  }}
)",
                       print_element(0, sums_.table.leading), sums_.table.elements,
                       print_element(sums_.table.leading, adjoint_.indices.size()));
  }

  const CheckedSpec& spec_;
  const HookIr& hooks_;
  const Adjoint& adjoint_;
  const AdjointSums sums_;
  const std::string name_;
  PartLowering& lowering_;
  std::string iteration_, indices_;  // ", i.index[0], i.index[1]"; "i0, i1"
  std::string functions_;
  std::set<std::string> declared_;
};

}  // namespace

PrintedAdjoints print_adjoints(const CheckedSpec& spec, const HookIr& hooks, const Derivatives& derivatives,
                               const HookDerivatives& of, std::string_view prefix, bool deterministic,
                               PartLowering& lowering) {
  PrintedAdjoints printed;
  const std::vector<Adjoint>& adjoints = of.adjoints;
  const std::vector<Table> tables = tables_of(spec, adjoints, deterministic);
  for (std::size_t i = 0; i < adjoints.size(); ++i) {
    const std::string name = fmt::format("{}{}", prefix, i);
    const AdjointSums sums = {.elements = elements_of(derivatives, adjoints[i].of, adjoints[i].index),
                              .table = tables[i],
                              .deterministic = deterministic};
    printed.functions += AdjointPrinter(spec, hooks, adjoints[i], sums, name, lowering).print();
    printed.list += (i == 0 ? "" : ", ") + name;
  }
  printed.list = fmt::format("AdjointList<{}>", printed.list);
  return printed;
}

BackwardNeeds needs_of(const CheckedSpec& spec, const Derivatives& derivatives, const Facts& facts,
                       bool deterministic) {
  constexpr int kFewOperations = 4;
  constexpr int kDiagonalRegisters = 8;  // what has been summed of the diagonals under way
  BackwardNeeds needs;
  needs.deterministic = deterministic;
  needs.edges = edges_of(facts);
  needs.computes_distances = facts.diagonal_ops > kFewOperations;
  const std::vector<Adjoint>& adjoints = derivatives.score_mod.adjoints;
  needs.captures = !adjoints.empty();
  for (const Table& table : tables_of(spec, adjoints, deterministic)) needs.table_floats += table.elements;
  for (const Adjoint& adjoint : adjoints) {
    const std::string_view place = place_of_sums(adjoint);
    needs.rows |= place == "row";
    if (place == "distance") {
      ++needs.distances;
      needs.registers += kDiagonalRegisters;
    }
    if (place == "head") {
      needs.heads += iterations(adjoint);
      needs.registers += iterations(adjoint);
    }
    if (place == "column") needs.registers += 2 * iterations(adjoint);  // a thread has two keys
  }
  return needs;
}

std::vector<ExactGradient> exact_gradients(const Derivatives& derivatives) {
  std::map<int, ExactGradient> gradients;
  for (const HookDerivatives* hook : {&derivatives.score_mod, &derivatives.sink})
    for (const Adjoint& adjoint : hook->adjoints) {
      const GradientElements elements = elements_of(derivatives, adjoint.of, adjoint.index);
      const int number = number_of(adjoint);
      gradients[number] = {.number = number,
                           .is_once = elements.is_once,
                           .of_batch = elements.of_batch,
                           .of_head = elements.of_head};
    }
  std::vector<ExactGradient> result;
  for (const auto& [number, gradient] : gradients) result.push_back(gradient);
  return result;
}

}  // namespace fa
