#include "tools/tune/session_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>

#include "tools/console/interrupt.h"
#include "tools/measure/copies.h"
#include "tools/problem/describe.h"

namespace fa::tools {
namespace {

// Shorter runs are repeated: the clock and the threads' start show in them. Other work of a CPU delays launches for milliseconds
// on end: of twenty, some launches are not delayed.
constexpr double kLeastRunMs = 1, kLeastRunMsOnHost = 20;
constexpr double kMostLaunches = 200;
// Of one plan's runs: on a machine that others use, too, waking a thread may take as long as a thousand
// kernels.
constexpr std::chrono::milliseconds kMostOfOne{1000};

}  // namespace

SessionTimer::SessionTimer(const Spec& spec, const std::vector<ProblemInputs>& inputs, Device device,
                           int cuda_device, const Target& target)
    : is_gpu_(device == Device::cuda) {
  for (const ProblemInputs& input : inputs) {
    stop_if_interrupted();
    Timed timed;
    timed.problem = std::make_unique<Problem>(make_problem(spec, input));
    timed.session = std::make_unique<Session>(*timed.problem, device, cuda_device, Layout::bhsd,
                                              copies_for(target, *timed.problem));
    sizes_.push_back(std::move(timed));
  }
}

double SessionTimer::seconds_at(Timed& timed, const Kernel& kernel, int runs) const {
  // The first launch finds caches, clocks and threads as another kernel left them.
  const double first = std::max(1e-4, timed.session->time(kernel, 1)[0]);
  const double least_ms = is_gpu_ ? kLeastRunMs : kLeastRunMsOnHost;
  if (timed.launches == 0)
    timed.launches = static_cast<int>(std::clamp(std::ceil(least_ms / first), 1.0, kMostLaunches));
  std::vector<double> all;
  const auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < runs; ++run) {
    std::ranges::copy(timed.session->time(kernel, timed.launches), std::back_inserter(all));
    if (std::chrono::steady_clock::now() - start > kMostOfOne) break;
  }
  // What disturbs a kernel on the host only ever makes it slower, so the fastest launch counts. A GPU's first launches are
  // the fastest, until its power limit lowers the clock, by a tenth and more and not for all plans alike: there the median.
  const auto counts = is_gpu_ ? all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2) : all.begin();
  std::ranges::nth_element(all, counts);
  return std::max(1e-9, *counts * 1e-3);
}

std::optional<double> SessionTimer::seconds(const Kernel& kernel, int runs) {
  try {
    double sum = 0;
    for (Timed& timed : sizes_) sum += std::log(seconds_at(timed, kernel, runs));
    return std::exp(sum / static_cast<double>(sizes_.size()));
  } catch (const Interrupted&) {
    return {};
  }
}

std::string describe_timed(const Spec& spec, const std::vector<ProblemInputs>& inputs) {
  const ProblemInputs& first = inputs.front();
  std::string text = fmt::format("B{} {}", first.size.batch, print_heads(first.size));
  for (const ProblemInputs& input : inputs) text += " " + print_lengths(input.size);
  for (const auto& [name, value] : first.params) text += fmt::format(", {} {}", name, value);
  if (spec.has_dropout() && first.dropout) text += fmt::format(", dropout {}", *first.dropout);
  return text;
}

}  // namespace fa::tools
