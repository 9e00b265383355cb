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

void AdjointSum::add(const Environment& environment, const double* logits, const double* errors, int lanes,
                     InputGradients& result, InputGradients* allowed) {
  iterate(0, environment, [&] {
    const std::span<const double> values = value_.evaluate_f32(environment, lanes);
    const std::span<const double> value_errors = value_.errors();
    const auto error = [&](std::size_t j) {
      return errors[j] * std::fabs(values[j]) + std::fabs(logits[j]) * value_errors[j];
    };
    for (int j = 0; j < lanes; ++j) is_doubtful_ |= logits[j] != 0 && value_.doubt(j).has_value();
    if (adjoint_.of == Adjoint::Of::param) {
      for (std::size_t j = 0; j < static_cast<std::size_t>(lanes); ++j) {
        if (logits[j] == 0) continue;
        result.params[at()] += logits[j] * values[j];
        if (allowed != nullptr) allowed->params[at()] += error(j);
      }
      return;
    }
    const HostTensor& tensor = environment.tensors[at()];
    std::vector<std::int64_t> elements(static_cast<std::size_t>(lanes));
    for (std::size_t d = 0; d < indices_.size(); ++d) {
      const std::span<const std::int32_t> index = indices_[d].evaluate_i32(environment, lanes);
      for (std::size_t j = 0; j < elements.size(); ++j)
        elements[j] = elements[j] * tensor.shape[d] + index[j];
    }
    for (std::size_t j = 0; j < elements.size(); ++j) {
      if (logits[j] == 0) continue;
      const auto element = static_cast<std::size_t>(elements[j]);
      result.tensors[at()][element] += logits[j] * values[j];
      if (allowed != nullptr) allowed->tensors[at()][element] += error(j);
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
