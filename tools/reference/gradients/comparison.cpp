#include "tools/reference/gradients/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fa::tools {
namespace {

/// The kv heads, b * num_kv_heads + head, whose q, k or v hold a NaN or an infinity. Kernels multiply all of a
/// tile, and 0 * NaN is NaN: what shares a tile with it may become one.
class OddHeads {
 public:
  explicit OddHeads(const Problem& problem)
      : group_size_(problem.size.num_q_heads / problem.size.num_kv_heads),
        is_odd_(static_cast<std::size_t>(problem.size.batch) *
                static_cast<std::size_t>(problem.size.num_kv_heads)) {
    note(problem.q, group_size_);
    note(problem.k, 1);
    note(problem.v, 1);
  }

  bool any() const { return std::ranges::find(is_odd_, true) != is_odd_.end(); }
  /// Of the heads of a gradient's first two dimensions, `heads_a_kv_head` share a kv head.
  bool of_head(std::size_t head, int heads_a_kv_head) const {
    return is_odd_[head / static_cast<std::size_t>(heads_a_kv_head)];
  }
  int group_size() const { return group_size_; }

 private:
  void note(const HostTensor& tensor, int heads_a_kv_head) {
    const std::int64_t a_head = tensor.shape[2] * tensor.shape[3];
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      if (!std::isfinite(tensor.get(i)))
        is_odd_[static_cast<std::size_t>(i / a_head / heads_a_kv_head)] = true;
  }

  int group_size_;
  std::vector<bool> is_odd_;
};

/// `may_be_nan` says it of an element.
template <class MayBeNan>
ComparedGradient compare(const HostTensor& value, const std::vector<double>& reference,
                         const std::vector<double>& allowed, double tiny, MayBeNan may_be_nan) {
  ComparedGradient result{.name = value.name};
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double found = value.get(static_cast<std::int64_t>(i)), expected = reference[i];
    if (std::isnan(found) && !std::isnan(expected) && may_be_nan(i)) {
      ++result.odd_elements;
      continue;
    }
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
  const OddHeads odd(problem);
  const bool is_any_odd = odd.any();
  const auto add_of_heads = [&](const std::vector<double>& expected, const std::vector<double>& allowed,
                                int heads_a_kv_head) {
    const HostTensor& value = *next++;
    const auto a_head = static_cast<std::size_t>(value.shape[2] * value.shape[3]);
    result.push_back(compare(value, expected, allowed, tiny, [&](std::size_t i) {
      return is_any_odd && odd.of_head(i / a_head, heads_a_kv_head);
    }));
  };
  const auto add = [&](const std::vector<double>& expected, const std::vector<double>& allowed) {
    result.push_back(compare(*next++, expected, allowed, tiny, [&](std::size_t) { return is_any_odd; }));
  };
  const InputGradients &expected = reference.reference, &allowed = reference.allowed;
  add_of_heads(expected.q, allowed.q, odd.group_size());
  add_of_heads(expected.k, allowed.k, 1);
  add_of_heads(expected.v, allowed.v, 1);
  for (std::size_t i = 0; i < expected.params.size(); ++i)
    if (problem.spec.params()[i].grad) add({expected.params[i]}, {allowed.params[i]});
  for (std::size_t i = 0; i < expected.tensors.size(); ++i)
    if (problem.spec.tensors()[i].grad) add(expected.tensors[i], allowed.tensors[i]);
  return result;
}

}  // namespace fa::tools
