#include "tools/reference/gradients/adjoint_sum.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fa::tools {

AdjointSum::AdjointSum(const Adjoint& adjoint, bool fast)
    : adjoint_(adjoint), value_(adjoint.value.expr, fast) {
  for (const Derived& index : adjoint.indices) indices_.emplace_back(index.expr);
}

bool AdjointSum::take_doubt() { return std::exchange(is_doubtful_, false); }

void AdjointSum::add(const Environment& environment, const double* logits, const TermError* errors, int lanes,
                     double base, InputGradients& result, GradientErrors* sums) {
  iterate(0, environment, [&] {
    const std::span<const double> values = value_.evaluate_f32(environment, lanes);
    const std::span<const double> value_errors = value_.errors();
    const bool of_param = adjoint_.of == Adjoint::Of::param;
    std::vector<std::int64_t> elements(static_cast<std::size_t>(lanes), of_param ? adjoint_.index : 0);
    for (std::size_t d = 0; d < indices_.size(); ++d) {
      const std::span<const std::int32_t> index = indices_[d].evaluate_i32(environment, lanes);
      for (std::size_t j = 0; j < elements.size(); ++j)
        elements[j] = elements[j] * environment.tensors[at()].shape[d] + index[j];
    }
    std::vector<double>& gradient = of_param ? result.params : result.tensors[at()];
    for (std::size_t j = 0; j < elements.size(); ++j) {
      if (logits[j] == 0) continue;
      is_doubtful_ |= value_.doubt(static_cast<int>(j)).has_value();
      const auto element = static_cast<std::size_t>(elements[j]);
      gradient[element] += logits[j] * values[j];
      if (sums != nullptr)
        (of_param ? sums->params : sums->tensors[at()])
            .add_in_row(element, errors[j].times(logits[j], values[j], value_errors[j], base));
    }
  });
}

void AdjointSum::iterate(std::size_t depth, const Environment& environment,
                         const std::function<void()>& body) {
  if (depth == adjoint_.loops.size()) return body();
  const DerivedLoop& loop = adjoint_.loops[depth];
  const int count = loop.range ? std::min(loop.count, evaluate_scalar(loop.range, environment)) : loop.count;
  for (int i = 0; i < count; ++i) {
    value_.set_loop(loop.id, i);
    for (Interpreter& index : indices_) index.set_loop(loop.id, i);
    iterate(depth + 1, environment, body);
  }
}

}  // namespace fa::tools
