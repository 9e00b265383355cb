#include "tools/reference/gradients/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fa::tools {
namespace {

ComparedGradient compare(const HostTensor& value, const std::vector<double>& reference,
                         const std::vector<double>& allowed, double tiny) {
  ComparedGradient result{.name = value.name};
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double found = value.get(static_cast<std::int64_t>(i)), expected = reference[i];
    const bool is_equal = found == expected || (std::isnan(found) && std::isnan(expected));
    double error = is_equal ? 0 : std::fabs(found - expected);
    // What nothing goes to is exactly 0.
    const double bound = allowed[i] == 0 ? 0 : allowed[i] + tiny;
    double share = error == 0 ? 0 : error / bound;
    if (std::isnan(share)) share = error = HUGE_VAL;
    result.max_error = std::max(result.max_error, error);
    if (share < result.worst || (share == result.worst && result.worst_bound > 0)) continue;
    result.worst = share;
    result.worst_element = static_cast<std::int64_t>(i);
    result.worst_value = found;
    result.worst_reference = expected;
    result.worst_bound = bound;
  }
  return result;
}

}  // namespace

std::string ComparedGradient::print_worst() const {
  return fmt::format("{}[{}] = {:.6g}, reference {:.6g}, error {:.2e}, bound {:.2e}", name, worst_element,
                     worst_value, worst_reference, std::fabs(worst_value - worst_reference), worst_bound);
}

OutputGradients widened(const OutputGradientTensors& outputs) {
  OutputGradients result;
  result.o.resize(static_cast<std::size_t>(outputs.o.elements()));
  for (std::size_t i = 0; i < result.o.size(); ++i) result.o[i] = outputs.o.get(static_cast<std::int64_t>(i));
  result.lse.assign(outputs.lse.begin(), outputs.lse.end());
  return result;
}

void narrow(const OutputGradients& from, OutputGradientTensors& to) {
  for (std::size_t i = 0; i < from.o.size(); ++i) to.o.set(static_cast<std::int64_t>(i), from.o[i]);
  for (std::size_t i = 0; i < from.lse.size(); ++i) to.lse[i] = static_cast<float>(from.lse[i]);
}

void keep_rows(const ProblemSize& size, const std::vector<RowId>& rows, OutputGradients& outputs) {
  const auto total = static_cast<std::size_t>(size.batch) * static_cast<std::size_t>(size.num_q_heads) *
                     static_cast<std::size_t>(size.q_len);
  std::vector<bool> is_kept(total);
  for (const RowId& row : rows)
    is_kept[(static_cast<std::size_t>(row.b) * static_cast<std::size_t>(size.num_q_heads) +
             static_cast<std::size_t>(row.h)) *
                static_cast<std::size_t>(size.q_len) +
            static_cast<std::size_t>(row.q_idx)] = true;
  const std::size_t width = total == 0 ? 0 : outputs.o.size() / total;
  for (std::size_t row = 0; row < total; ++row) {
    if (is_kept[row]) continue;
    std::fill_n(outputs.o.begin() + static_cast<std::ptrdiff_t>(row * width), width, 0.0);
    if (!outputs.lse.empty()) outputs.lse[row] = 0;
  }
}

std::vector<ComparedGradient> compare_gradients(const Problem& problem, const MeasuredGradients& reference,
                                                const KernelGradients& gradients) {
  const double tiny = gradient_bound(problem).tiny;
  std::vector<ComparedGradient> result;
  auto next = gradients.tensors.begin();
  const auto add = [&](const std::vector<double>& expected, const std::vector<double>& allowed) {
    result.push_back(compare(*next++, expected, allowed, tiny));
  };
  const InputGradients &expected = reference.reference, &allowed = reference.allowed;
  add(expected.q, allowed.q);
  add(expected.k, allowed.k);
  add(expected.v, allowed.v);
  for (std::size_t i = 0; i < expected.params.size(); ++i)
    if (problem.spec.params()[i].grad) add({expected.params[i]}, {allowed.params[i]});
  for (std::size_t i = 0; i < expected.tensors.size(); ++i)
    if (problem.spec.tensors()[i].grad) add(expected.tensors[i], allowed.tensors[i]);
  return result;
}

}  // namespace fa::tools
