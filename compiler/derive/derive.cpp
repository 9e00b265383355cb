#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/derive/derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/relative.h"
#include "compiler/derive/length.h"
#include "compiler/derive/reverse.h"
#include "compiler/ir/import/import.h"
#include "compiler/ir/lower/part.h"
#include "compiler/spec/check/fold.h"
#include "compiler/spec/check/gradient.h"

namespace fa {
namespace {

/// Operations of all functions of a hook's derivatives together. Each has those of its own that others have,
/// too: of a hook of n operations that reads n elements there are n * n.
constexpr std::size_t kMostOperations = std::size_t{1} << 16;

Per per_of(DependsOn depends, bool is_relative) {
  const bool row = depends.has(DependsOn::q), column = depends.has(DependsOn::kv);
  if (depends.has(DependsOn::score)) return Per::element;
  if (row && column) return is_relative ? Per::distance : Per::element;
  if (column) return Per::column;
  if (row) return Per::row;
  return depends.has(DependsOn::b) || depends.has(DependsOn::h) ? Per::head : Per::call;
}

/// Of two values together, such as a read's indices.
Per both(Per a, Per b) {
  if (a > b) std::swap(a, b);
  const bool is_mixed = a >= Per::row && b <= Per::distance && a != b;
  return is_mixed ? Per::element : b;
}

/// The derivatives of one hook.
class Derivation {
 public:
  Derivation(const CheckedSpec& spec, PartLowering& lowering, std::string prefix)
      : spec_(spec), lowering_(lowering), prefix_(std::move(prefix)) {}

  HookDerivatives run(const ExprPtr& hook, Algebra& algebra) {
    Gradients gradients = differentiate(spec_, hook, algebra);
    HookDerivatives result;
    result.score = lowered("score", gradients.score, {}, *hook);
    for (auto& [index, gradient] : gradients.params)
      result.adjoints.push_back(of_param(index, gradient, *hook));
    std::ranges::stable_sort(gradients.reads, {}, [](const ReadGradient& read) { return read.read->index; });
    for (const ReadGradient& read : gradients.reads)
      if (read.value) result.adjoints.push_back(of_read(read, algebra));
    return result;
  }

 private:
  /// `place`: what the spec has there.
  Derived lowered(const std::string& name, const ExprPtr& expr, const std::vector<int>& loops,
                  const Expr& place) {
    Derived result{.expr = expr ? expr : make_float(0)};
    if (is_literal(*result.expr)) return result;
    num_operations_ += length_.of(*result.expr, kMostOperations);
    if (num_operations_ > kMostOperations)
      throw_too_long(spec_, place.line, place.column,
                     fmt::format("takes more than {} operations, counted for each element that it reads",
                                 kMostOperations));
    result.function = lowering_.lower(prefix_ + name, *result.expr, loops);
    const auto* end = llvm::cast<llvm::ReturnInst>(result.function->back().getTerminator());
    result.depends = Dependence(*result.function).of(*end->getReturnValue());
    result.per = per_of(result.depends, is_relative(*result.function));
    return result;
  }

  Adjoint of_param(int index, const ExprPtr& gradient, const Expr& hook) {
    const std::string& name = spec_.params[static_cast<std::size_t>(index)].name;
    return {.of = Adjoint::Of::param,
            .index = index,
            .name = name,
            .value = lowered("p." + name, gradient, {}, hook),
            .indices = {},
            .loops = {}};
  }

  Adjoint of_read(const ReadGradient& read, Algebra& algebra) {
    const CheckedTensor& tensor = spec_.tensors[static_cast<std::size_t>(read.read->index)];
    const std::string& name = tensor.info.name;
    const std::string title = fmt::format("t.{}.{}", name, num_reads_[read.read->index]++);
    Adjoint result{.of = Adjoint::Of::tensor,
                   .index = read.read->index,
                   .name = name,
                   .value = {},
                   .indices = {},
                   .loops = {},
                   .line = read.read->line,
                   .column = read.read->column};
    std::vector<int> ids;
    for (const Expr* loop : read.loops) {
      ids.push_back(loop->index);
      lowering_.bounds().add_loops(*loop);
      result.loops.push_back({.id = loop->index,
                              .count = loop->count,
                              .range = loop->args.size() > 1 ? loop->args[1] : nullptr});
    }
    result.value = lowered(title, read.value, ids, *read.read);
    for (std::size_t d = 0; d < read.read->args.size(); ++d) {
      const ExprPtr index = inside(read.read->args[d], tensor.extents[d], algebra);
      result.indices.push_back(lowered(fmt::format("{}.index.{}", title, d), index, ids, *read.read));
      result.place = both(result.place, result.indices.back().per);
    }
    return result;
  }

  /// The element that the forward pass reads: an index that is not proved to be in range is moved into it.
  ExprPtr inside(ExprPtr index, const ExprPtr& extent, Algebra& algebra) {
    Bounds& bounds = lowering_.bounds();
    if (!bounds.below(*index, *extent)) index = algebra.call(Func::min, {index, algebra.last(extent)});
    if (!bounds.non_negative(*index)) index = algebra.call(Func::max, {index, algebra.integer(0)});
    return index;
  }

  const CheckedSpec& spec_;
  PartLowering& lowering_;
  std::string prefix_;
  std::map<int, int> num_reads_;
  Length length_;
  std::size_t num_operations_ = 0;
};

/// The checker cannot look into a hook from a file.
void refuse_unreached(const CheckedSpec& spec) {
  Findings findings(*spec.ast->source);
  refuse_unreached(spec, *spec.ast, findings);
  if (findings.has_errors()) throw SpecError(findings.errors());
}

}  // namespace

Derivatives derive(const CheckedSpec& written, const HookIr& hooks) {
  CheckedSpec spec = import_hooks(written);
  spec.score_from = spec.mask_from = {};  // expressions now
  refuse_unreached(spec);
  Algebra algebra;  // before what knows its nodes by their addresses
  PartLowering lowering(spec, hooks, "derivatives");
  Derivatives result{.module = lowering.module(), .score_mod = {}, .sink = {}};
  if (spec.score_mod)
    result.score_mod = Derivation(spec, lowering, "d_").run(spec.score_mod, algebra);
  else
    result.score_mod.score.expr = make_float(1);
  if (spec.sink) result.sink = Derivation(spec, lowering, "d_sink.").run(spec.sink, algebra);
  return result;
}

}  // namespace fa
