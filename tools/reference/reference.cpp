// Attention by the definition in fp64: score = scale * q.k, score_mod, mask_mod, softmax, dropout, times v.
#include "tools/reference/reference.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

#include "tools/problem/random.h"
#include "tools/reference/dropout.h"
#include "tools/reference/parallel.h"
#include "tools/reference/row_hooks.h"

namespace fa::tools {

namespace {

/// Eight partial sums, so that the loop is not one long chain of additions.
double dot(const float* a, const float* b, int n) {
  std::array<double, 8> sums{};
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int lane = 0; lane < 8; ++lane) {
      sums[static_cast<std::size_t>(lane)] +=
          static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
    }
  }
  for (; i < n; ++i) sums[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// One kv head's keys and values, widened once for all of its rows.
struct KvHead {
  std::int64_t index = -1;  // b * num_kv_heads + kv head
  std::vector<float> k, v;
  double largest_k = 0;       // the square of the longest key's norm
  std::vector<int> odd_keys;  // whose v holds a NaN or an infinity

  void load(const Problem& problem, std::int64_t wanted) {
    if (index == wanted) return;
    index = wanted;
    const auto widen = [&](const HostTensor& tensor, std::vector<float>& out) {
      const std::int64_t count = tensor.shape[2] * tensor.shape[3];
      out.resize(static_cast<std::size_t>(count));
      tensor.widen(index * count, count, out.data());
    };
    widen(problem.k, k);
    widen(problem.v, v);
    const std::int64_t head_dim = problem.k.shape[3];
    largest_k = 0;
    for (int j = 0; j < problem.size.kv_len; ++j) {
      const float* const key = k.data() + j * head_dim;
      largest_k = std::max(largest_k, dot(key, key, static_cast<int>(head_dim)));
    }
    odd_keys.clear();
    const auto width = static_cast<std::size_t>(problem.v.shape[3]);
    for (int j = 0; j < problem.size.kv_len; ++j) {
      const auto begin = v.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(j) * width);
      if (!std::all_of(begin, begin + static_cast<std::ptrdiff_t>(width),
                       [](float x) { return std::isfinite(x); }))
        odd_keys.push_back(j);
    }
  }
};

class RowReference {
 public:
  explicit RowReference(const Problem& problem)
      : problem_(problem),
        checked_(problem.spec.checked()),
        hooks_(checked_, problem_environment(problem)),
        kv_len_(problem.size.kv_len),
        head_dim_(checked_.head_dim),
        head_dim_v_(checked_.head_dim_v),
        q_(static_cast<std::size_t>(head_dim_)),
        logits_(static_cast<std::size_t>(kv_len_)),
        errors_(static_cast<std::size_t>(kv_len_)),
        kept_(new bool[static_cast<std::size_t>(kv_len_)]) {}

  void compute(ReferenceRows& result, std::size_t at) {
    const RowId& row = result.rows[at];
    const ProblemSize& size = problem_.size;
    const int group_size = size.num_q_heads / size.num_kv_heads;
    kv_.load(problem_, std::int64_t{row.b} * size.num_kv_heads + row.h / group_size);
    const std::int64_t q_row = (std::int64_t{row.b} * size.num_q_heads + row.h) * size.q_len + row.q_idx;
    problem_.q.widen(q_row * head_dim_, head_dim_, q_.data());

    compute_logits(row);
    double row_max = -ReferenceRows::kInfinity;
    double max_logit = 0;
    std::int64_t count = 0;
    for (int j = 0; j < kv_len_; ++j) {
      if (!kept_[j]) continue;
      const double logit = logits_[static_cast<std::size_t>(j)];
      ++count;
      if (!(logit <= row_max)) row_max = logit;  // a NaN stays, so that the row becomes NaN
      if (std::isfinite(logit)) max_logit = std::max(max_logit, std::fabs(logit));
    }
    const auto [sink, sink_error] = hooks_.sink();
    if (!(sink <= row_max) && !std::isnan(row_max)) row_max = sink;
    if (std::isfinite(sink)) max_logit = std::max(max_logit, std::fabs(sink));
    result.kept[at] = count;
    result.max_logit[at] = max_logit;
    result.doubts[at] = hooks_.doubt();
    result.lse[at] = -ReferenceRows::kInfinity;
    mark_odd_columns(result, at, row_max);
    if (row_max == -ReferenceRows::kInfinity) return;  // o stays 0
    accumulate(result, at, row_max, sink, sink_error);
  }

 private:
  void compute_logits(const RowId& row) {
    for (int j = 0; j < kv_len_; ++j) {
      const float* const k = kv_.k.data() + std::int64_t{j} * head_dim_;
      logits_[static_cast<std::size_t>(j)] = checked_.scale * dot(q_.data(), k, head_dim_);
    }
    // The error of head_dim products added in f32 in any order: sixteen roundings, the square root of the
    // largest head_dim, 256.
    constexpr double kOfNorms = 0x1p-20;
    const double norms = std::sqrt(dot(q_.data(), q_.data(), head_dim_) * kv_.largest_k);
    hooks_.set_row(row, kOfNorms * checked_.scale * norms);
    for (int first = 0; first < kv_len_; first += Interpreter::kLanes) {
      const int lanes = std::min(Interpreter::kLanes, kv_len_ - first);
      hooks_.apply(first, lanes, logits_.data() + first, errors_.data() + first, kept_.get() + first);
    }
  }

  /// Kernels multiply every key of a tile: 0 * NaN is NaN.
  void mark_odd_columns(ReferenceRows& result, std::size_t at, double row_max) {
    constexpr double kRoundsToZero = 0x1p-24;  // in f16
    for (const int j : kv_.odd_keys) {
      const bool counts = kept_[j] && row_max != -ReferenceRows::kInfinity && !problem_.drops() &&
                          std::exp(logits_[static_cast<std::size_t>(j)] - row_max) > kRoundsToZero;
      if (counts) continue;
      for (int d = 0; d < head_dim_v_; ++d)
        if (!std::isfinite(kv_.v[static_cast<std::size_t>(j * std::int64_t{head_dim_v_} + d)]))
          result.may_be_nan[at * static_cast<std::size_t>(head_dim_v_) + static_cast<std::size_t>(d)] = 1;
    }
  }

  void accumulate(ReferenceRows& result, std::size_t at, double row_max, double sink, double sink_error) {
    const RowId& row = result.rows[at];
    const std::uint32_t threshold = problem_.drops() ? dropout_threshold(problem_.dropout) : 0;
    double* const o = result.o.data() + at * static_cast<std::size_t>(head_dim_v_);
    double* const magnitude = result.magnitude.data() + at * static_cast<std::size_t>(head_dim_v_);
    double* const hook_o = result.hook_o.data() + at * static_cast<std::size_t>(head_dim_v_);
    double row_sum = std::exp(sink - row_max);
    double error_sum = row_sum * sink_error;
    for (int j = 0; j < kv_len_; ++j) {
      if (!kept_[j]) continue;
      const double prob = std::exp(logits_[static_cast<std::size_t>(j)] - row_max);
      row_sum += prob;
      if (prob == 0) continue;
      const double error = prob * errors_[static_cast<std::size_t>(j)];
      error_sum += error;
      if (threshold > 0 && !dropout_keeps(problem_.dropout_seed, threshold, row.b, row.h,
                                          problem_.size.num_q_heads, row.q_idx, j)) {
        continue;
      }
      const float* const v = kv_.v.data() + std::int64_t{j} * head_dim_v_;
      for (int d = 0; d < head_dim_v_; ++d) {
        const double term = prob * static_cast<double>(v[d]);
        o[d] += term;
        magnitude[d] += std::fabs(term);
        hook_o[d] += error * std::fabs(static_cast<double>(v[d]));
      }
    }
    const double keep_scale = threshold >= 65536 ? 0 : 65536.0 / (65536.0 - threshold);
    for (int d = 0; d < head_dim_v_; ++d) {
      o[d] *= keep_scale / row_sum;
      magnitude[d] *= keep_scale / row_sum;
      // d o = sum_j prob_j d_j (v_j - o)
      hook_o[d] = hook_o[d] * keep_scale / row_sum + magnitude[d] * error_sum / row_sum;
    }
    result.hook_lse[at] = error_sum / row_sum;
    result.lse[at] = row_max + std::log(row_sum);
  }

  const Problem& problem_;
  const CheckedSpec& checked_;
  RowHooks hooks_;
  int kv_len_, head_dim_, head_dim_v_;
  KvHead kv_;
  std::vector<float> q_;
  std::vector<double> logits_, errors_;
  std::unique_ptr<bool[]> kept_;
};

/// Rows a thread takes at a time: enough to share a widened kv head, few enough to balance.
std::int64_t row_chunk(std::size_t rows) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(rows) / 64, 1, 64);
}

}  // namespace

std::vector<RowId> sample_rows(const ProblemSize& size, std::int64_t limit) {
  const std::int64_t total = std::int64_t{size.batch} * size.num_q_heads * size.q_len;
  const std::int64_t count = std::min(total, std::max<std::int64_t>(limit, 2));
  std::vector<RowId> rows;
  std::int64_t previous = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    // One row out of each of `count` equal parts, at a random place in it, so that no stride hides a bad
    // position.
    const std::int64_t low = i * total / count;
    const std::int64_t high = (i + 1) * total / count;
    std::int64_t at = low + static_cast<std::int64_t>(random_below(0xfa, static_cast<std::uint64_t>(i),
                                                                   static_cast<std::uint32_t>(high - low)));
    if (i == 0) at = 0;
    if (i + 1 == count) at = total - 1;
    if (at == previous) continue;
    previous = at;
    const std::int64_t head = at / size.q_len;
    rows.push_back({.b = static_cast<int>(head / size.num_q_heads),
                    .h = static_cast<int>(head % size.num_q_heads),
                    .q_idx = static_cast<int>(at % size.q_len)});
  }
  return rows;
}

ReferenceRows reference_forward(const Problem& problem, const std::vector<RowId>& rows,
                                const OnProgress& on_progress) {
  const auto width = static_cast<std::size_t>(problem.spec.head_dim_v());
  ReferenceRows result{.rows = rows,
                       .head_dim_v = problem.spec.head_dim_v(),
                       .o = std::vector<double>(rows.size() * width),
                       .magnitude = std::vector<double>(rows.size() * width),
                       .lse = std::vector<double>(rows.size()),
                       .max_logit = std::vector<double>(rows.size()),
                       .hook_lse = std::vector<double>(rows.size()),
                       .hook_o = std::vector<double>(rows.size() * width),
                       .doubts = std::vector<std::optional<DoubtfulElement>>(rows.size()),
                       .kept = std::vector<std::int64_t>(rows.size()),
                       .may_be_nan = std::vector<std::uint8_t>(rows.size() * width)};
  std::atomic<std::int64_t> done{0};
  const auto total = static_cast<std::int64_t>(rows.size());
  parallel_for(total, row_chunk(rows.size()), [&](std::int64_t begin, std::int64_t end) {
    RowReference reference(problem);
    for (std::int64_t i = begin; i < end; ++i) reference.compute(result, static_cast<std::size_t>(i));
    done += end - begin;
    if (on_progress) on_progress(static_cast<double>(done) / static_cast<double>(total));
  });
  return result;
}

std::vector<std::int64_t> count_kept(const Spec& spec, const Environment& environment,
                                     const std::vector<RowId>& rows, const OnProgress& on_progress) {
  const int kv_len = environment.builtins[static_cast<std::size_t>(Builtin::kv_len)];
  if (!spec.checked().has_mask_mod()) return std::vector<std::int64_t>(rows.size(), kv_len);
  std::vector<std::int64_t> counts(rows.size());
  std::atomic<std::int64_t> done{0};
  const auto total = static_cast<std::int64_t>(rows.size());
  parallel_for(total, row_chunk(rows.size()), [&](std::int64_t begin, std::int64_t end) {
    RowHooks hooks(spec.checked(), environment);
    std::array<bool, Interpreter::kLanes> kept{};
    for (std::int64_t i = begin; i < end; ++i) {
      hooks.set_row(rows[static_cast<std::size_t>(i)]);
      for (int first = 0; first < kv_len; first += Interpreter::kLanes) {
        const int lanes = std::min(Interpreter::kLanes, kv_len - first);
        hooks.mask(first, lanes, kept.data());
        counts[static_cast<std::size_t>(i)] += std::count(kept.begin(), kept.begin() + lanes, true);
      }
    }
    done += end - begin;
    if (on_progress) on_progress(static_cast<double>(done) / static_cast<double>(total));
  });
  return counts;
}

}  // namespace fa::tools
