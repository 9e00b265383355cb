// For a row i of one head, with s_j = scale * q . k_j, l_j = score_mod(s_j), p_j = exp(l_j - lse), z_j what
// dropout makes of 1 (0, or 1 / (1 - probability)) and o = sum_j p_j z_j v_j:
//
//   dv_j += p_j z_j do          dp_j = z_j do . v_j          D = sum_j p_j dp_j
//   dl_j  = p_j (dp_j - D + dlse)                            of the sink: p (0 - D + dlse)
//   ds_j  = dl_j * d score_mod / d score                     dq += scale ds_j k_j, dk_j += scale ds_j q
//
// and each captured element gets dl_j * d score_mod / d element.
#include "tools/reference/backward.h"

#include <algorithm>
#include <cmath>

#include "compiler/derive/derive.h"
#include "compiler/ir/import/import.h"
#include "tools/reference/dropout.h"
#include "tools/reference/gradients/adjoint_sum.h"
#include "tools/reference/interpreter.h"
#include "tools/reference/parallel.h"
#include "tools/reference/reference.h"

namespace fa::tools {

namespace {

constexpr double kInfinity = ReferenceRows::kInfinity;

std::vector<double> widened(const HostTensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.get(static_cast<std::int64_t>(i));
  return values;
}

double dot(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

double dot_of_sizes(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += std::fabs(a[i] * b[i]);
  return sum;
}

void add_sizes(double* to, double factor, const double* from, int n) {
  for (int i = 0; i < n; ++i) to[i] += factor * std::fabs(from[i]);
}

void add_scaled(double* to, double factor, const double* from, int n) {
  for (int i = 0; i < n; ++i) to[i] += factor * from[i];
}

/// Where a run of the reference leaves what it finds, beside the gradients.
struct Measurement {
  InputGradients* allowed;
  ErrorBound bound;
  std::vector<std::uint8_t>* is_doubtful;  // by row
};

/// The heads of one group, row by row.
class GroupBackward {
 public:
  /// `measurement` may be null: then no errors are followed.
  GroupBackward(const Problem& problem, const CheckedSpec& spec, const Derivatives& derivatives,
                const OutputGradients& outputs, InputGradients& result, const Measurement* measurement)
      : problem_(problem),
        size_(problem.size),
        spec_(spec),
        outputs_(outputs),
        result_(result),
        measurement_(measurement),
        environment_(problem_environment(problem)),
        d_score_(derivatives.score_mod.score.expr, is_fast()) {
    if (spec.score_mod) score_mod_.emplace(spec.score_mod, is_fast());
    if (spec.mask_mod) mask_mod_.emplace(spec.mask_mod);
    if (spec.sink) sink_.emplace(spec.sink, is_fast());
    for (const Adjoint& adjoint : derivatives.score_mod.adjoints)
      of_score_mod_.emplace_back(adjoint, is_fast());
    for (const Adjoint& adjoint : derivatives.sink.adjoints) of_sink_.emplace_back(adjoint, is_fast());
    const auto keys = static_cast<std::size_t>(size_.kv_len);
    for (auto* values :
         {&scores_, &logits_, &errors_, &probs_, &sizes_, &d_logits_, &d_errors_, &factors_, &factor_errors_})
      values->resize(keys);
  }

  void run(int b, int kv_head, const std::vector<double>& q, const std::vector<double>& k,
           const std::vector<double>& v) {
    const int group_size = size_.num_q_heads / size_.num_kv_heads;
    const std::int64_t kv_row = (std::int64_t{b} * size_.num_kv_heads + kv_head) * size_.kv_len;
    k_ = k.data() + kv_row * spec_.head_dim;
    v_ = v.data() + kv_row * spec_.head_dim_v;
    at_k_ = kv_row * spec_.head_dim;
    at_v_ = kv_row * spec_.head_dim_v;
    largest_k_ = 0;
    for (int j = 0; j < size_.kv_len; ++j) {
      const double* const key = k_ + std::int64_t{j} * spec_.head_dim;
      largest_k_ = std::max(largest_k_, dot(key, key, spec_.head_dim));
    }
    for (int h = kv_head * group_size; h < (kv_head + 1) * group_size; ++h)
      for (int i = 0; i < size_.q_len; ++i) {
        const std::int64_t row = (std::int64_t{b} * size_.num_q_heads + h) * size_.q_len + i;
        environment_[Builtin::b] = b;
        environment_[Builtin::h] = h;
        environment_[Builtin::q_idx] = i;
        this->row(row, {.b = b, .h = h, .q_idx = i}, q.data() + row * spec_.head_dim);
      }
  }

 private:
  bool is_fast() const { return spec_.dtype != DType::f32; }
  bool measures() const { return measurement_ != nullptr; }

  /// Calls body(first key, how many) for as many keys as the interpreter takes at a time.
  template <class Body>
  void for_lanes(const Body& body) {
    for (int first = 0; first < size_.kv_len; first += Interpreter::kLanes) {
      environment_[Builtin::kv_idx] = first;
      environment_.score = scores_.data() + first;
      body(first, std::min(Interpreter::kLanes, size_.kv_len - first));
    }
  }

  /// Doubt in one of the row's decisions, of a key that counts.
  template <class Counts>
  void note(const Interpreter& hook, int lanes, const Counts& counts) {
    if (!measures()) return;
    for (int j = 0; j < lanes; ++j) is_doubtful_ |= counts(j) && hook.doubt(j).has_value();
  }

  void find_logits(const double* q) {
    for (int j = 0; j < size_.kv_len; ++j)
      scores_[static_cast<std::size_t>(j)] =
          spec_.scale * dot(q, k_ + std::int64_t{j} * spec_.head_dim, spec_.head_dim);
    // As in the forward reference: the error of head_dim products added in f32 in any order.
    if (measures())
      environment_.score_error = 0x1p-20 * spec_.scale * std::sqrt(dot(q, q, spec_.head_dim) * largest_k_);
    logits_ = scores_;
    std::ranges::fill(errors_, 0.0);
    for_lanes([&](int first, int lanes) {
      double* const logits = logits_.data() + first;
      std::span<const std::int32_t> kept;
      if (mask_mod_) {
        kept = mask_mod_->evaluate_i32(environment_, lanes);
        note(*mask_mod_, lanes, [](int) { return true; });
      }
      const auto keeps = [&](int j) { return kept.empty() || kept[static_cast<std::size_t>(j)] != 0; };
      if (score_mod_) {
        std::ranges::copy(score_mod_->evaluate_f32(environment_, lanes), logits);
        std::ranges::copy(score_mod_->errors(), errors_.data() + first);
        note(*score_mod_, lanes, keeps);
      }
      for (int j = 0; j < lanes; ++j)
        if (!keeps(j)) logits[j] = -kInfinity;
    });
  }

  void row(std::int64_t number, const RowId& id, const double* q) {
    is_doubtful_ = false;
    find_logits(q);
    environment_[Builtin::kv_idx] = 0;
    double sink = -kInfinity, sink_error = 0;
    if (sink_) {
      sink = sink_->evaluate_f32(environment_, 1)[0];
      sink_error = sink_->errors()[0];
      note(*sink_, 1, [](int) { return true; });
    }
    double row_max = sink, max_logit = std::isfinite(sink) ? std::fabs(sink) : 0;
    for (const double logit : logits_) {
      row_max = std::max(row_max, logit);
      if (std::isfinite(logit)) max_logit = std::max(max_logit, std::fabs(logit));
    }
    if (row_max == -kInfinity) return;
    double row_sum = std::exp(sink - row_max);
    for (const double logit : logits_) row_sum += std::exp(logit - row_max);
    const double sink_prob = std::exp(sink - row_max) / row_sum;

    double mean_error = sink_prob * sink_error;  // that of lse, by the hooks' errors
    for (std::size_t j = 0; j < logits_.size(); ++j) {
      probs_[j] = std::exp(logits_[j] - row_max) / row_sum;
      if (probs_[j] != 0) mean_error += probs_[j] * errors_[j];
    }
    // How far a probability may be off, relatively.
    const auto relative = [&](double hook_error) {
      if (!measures()) return 0.0;
      const ErrorBound& bound = measurement_->bound;
      return std::max(bound.relative(max_logit), bound.relative(0) + hook_error + mean_error);
    };

    const double* const d_o = outputs_.o.data() + number * spec_.head_dim_v;
    const double d_lse = outputs_.lse.empty() ? 0 : outputs_.lse[static_cast<std::size_t>(number)];
    const std::uint32_t threshold = problem_.drops() ? dropout_threshold(problem_.dropout) : 0;
    const double keep_scale = threshold >= 65536 ? 0 : 65536.0 / (65536.0 - threshold);
    double d_sum = 0;                // D of the paper
    double d_size = 0, d_error = 0;  // the sum of its terms' sizes, and its error by the hooks'
    for (std::size_t j = 0; j < logits_.size(); ++j) {
      const auto key = static_cast<std::int64_t>(j);
      const bool is_kept = threshold == 0 || dropout_keeps(problem_.dropout_seed, threshold, id.b, id.h,
                                                           size_.num_q_heads, id.q_idx, static_cast<int>(j));
      const double factor = is_kept ? keep_scale : 0;
      d_logits_[j] = sizes_[j] = 0;
      if (probs_[j] == 0 || factor == 0) continue;
      const double* const v = v_ + key * spec_.head_dim_v;
      d_logits_[j] = factor * dot(d_o, v, spec_.head_dim_v);  // dp so far
      d_sum += probs_[j] * d_logits_[j];
      add_scaled(result_.v.data() + at_v_ + key * spec_.head_dim_v, probs_[j] * factor, d_o,
                 spec_.head_dim_v);
      if (!measures()) continue;
      sizes_[j] = factor * dot_of_sizes(d_o, v, spec_.head_dim_v);
      d_size += probs_[j] * sizes_[j];
      d_error += probs_[j] * (errors_[j] + mean_error) * sizes_[j];
      add_sizes(measurement_->allowed->v.data() + at_v_ + key * spec_.head_dim_v,
                probs_[j] * factor * relative(errors_[j]), d_o, spec_.head_dim_v);
    }
    for (std::size_t j = 0; j < logits_.size(); ++j) {
      d_errors_[j] = 0;
      if (probs_[j] != 0 && measures())
        d_errors_[j] = probs_[j] * (relative(errors_[j]) * (sizes_[j] + d_size + std::fabs(d_lse)) + d_error);
      d_logits_[j] = probs_[j] == 0 ? 0 : probs_[j] * (d_logits_[j] - d_sum + d_lse);
    }
    give_on(q, number);

    const double d_sink = sink_prob == 0 ? 0 : sink_prob * (d_lse - d_sum);
    const double d_sink_error =
        sink_prob == 0 ? 0 : sink_prob * (relative(sink_error) * (d_size + std::fabs(d_lse)) + d_error);
    environment_[Builtin::kv_idx] = 0;
    for (AdjointSum& adjoint : of_sink_) {
      adjoint.add(environment_, &d_sink, &d_sink_error, 1, result_, allowed());
      is_doubtful_ |= adjoint.take_doubt();
    }
    if (measures() && is_doubtful_) (*measurement_->is_doubtful)[static_cast<std::size_t>(number)] = 1;
  }

  InputGradients* allowed() const { return measures() ? measurement_->allowed : nullptr; }

  /// From the logits to the scores, and on to q, k and what score_mod captures.
  void give_on(const double* q, std::int64_t number) {
    for_lanes([&](int first, int lanes) {
      std::ranges::copy(d_score_.evaluate_f32(environment_, lanes), factors_.data() + first);
      std::ranges::copy(d_score_.errors(), factor_errors_.data() + first);
      note(d_score_, lanes, [&](int j) { return probs_[static_cast<std::size_t>(first + j)] != 0; });
      for (AdjointSum& adjoint : of_score_mod_) {
        adjoint.add(environment_, d_logits_.data() + first, d_errors_.data() + first, lanes, result_,
                    allowed());
        is_doubtful_ |= adjoint.take_doubt();
      }
    });
    const std::int64_t at_q = number * spec_.head_dim;
    for (std::size_t j = 0; j < d_logits_.size(); ++j) {
      const std::int64_t at = static_cast<std::int64_t>(j) * spec_.head_dim;
      if (d_logits_[j] != 0) {
        const double d_score = spec_.scale * d_logits_[j] * factors_[j];
        add_scaled(result_.q.data() + at_q, d_score, k_ + at, spec_.head_dim);
        add_scaled(result_.k.data() + at_k_ + at, d_score, q, spec_.head_dim);
      }
      if (!measures() || d_errors_[j] == 0) continue;
      const double error =
          spec_.scale * (d_errors_[j] * std::fabs(factors_[j]) + std::fabs(d_logits_[j]) * factor_errors_[j]);
      add_sizes(measurement_->allowed->q.data() + at_q, error, k_ + at, spec_.head_dim);
      add_sizes(measurement_->allowed->k.data() + at_k_ + at, error, q, spec_.head_dim);
    }
  }

  const Problem& problem_;
  const ProblemSize& size_;
  const CheckedSpec& spec_;
  const OutputGradients& outputs_;
  InputGradients& result_;
  const Measurement* measurement_;
  Environment environment_;
  Interpreter d_score_;
  std::optional<Interpreter> score_mod_, mask_mod_, sink_;
  std::vector<AdjointSum> of_score_mod_, of_sink_;
  const double *k_ = nullptr, *v_ = nullptr;
  std::int64_t at_k_ = 0, at_v_ = 0;
  double largest_k_ = 0;
  bool is_doubtful_ = false;  // the row
  // By key. `sizes` are sums of |dO_d V_d|, as the dot products' errors are relative to.
  std::vector<double> scores_, logits_, errors_, probs_, sizes_, d_logits_, d_errors_, factors_,
      factor_errors_;
};

InputGradients zeros(const Problem& problem) {
  const CheckedSpec& spec = problem.spec.checked();
  const auto of = [](const HostTensor& tensor) {
    return std::vector<double>(static_cast<std::size_t>(tensor.elements()));
  };
  InputGradients result{
      .q = of(problem.q), .k = of(problem.k), .v = of(problem.v), .params = {}, .tensors = {}};
  result.params.resize(spec.params.size());
  for (std::size_t i = 0; i < spec.tensors.size(); ++i)
    result.tensors.push_back(spec.tensors[i].info.grad ? of(problem.tensors[i]) : std::vector<double>());
  return result;
}

void add(InputGradients& to, const InputGradients& from) {
  const auto add = [](std::vector<double>& sums, const std::vector<double>& values) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
  };
  add(to.q, from.q);
  add(to.k, from.k);
  add(to.v, from.v);
  add(to.params, from.params);
  for (std::size_t i = 0; i < from.tensors.size(); ++i) add(to.tensors[i], from.tensors[i]);
}

/// One run over all rows. `measured` may be null; else its `allowed` is added to, and doubtful rows are marked.
InputGradients run(const Problem& problem, const OutputGradients& outputs, MeasuredGradients* measured,
                   std::vector<std::uint8_t>& is_doubtful) {
  const ProblemSize& size = problem.size;
  const CheckedSpec spec = import_hooks(problem.spec.checked());
  const Derivatives derivatives = derive(spec, lower(spec));
  const std::vector<double> q = widened(problem.q), k = widened(problem.k), v = widened(problem.v);
  InputGradients result = zeros(problem);
  const auto groups = std::int64_t{size.batch} * size.num_kv_heads;
  // Groups share captured tensors alone: each has its own sums of those, added up in the groups' order.
  std::vector<InputGradients> sums(static_cast<std::size_t>(groups)), errors(sums.size());
  parallel_for(groups, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      InputGradients own = zeros(problem), allowed;
      if (measured != nullptr) allowed = zeros(problem);
      const Measurement measurement{
          .allowed = &allowed, .bound = gradient_bound(problem), .is_doubtful = &is_doubtful};
      GroupBackward(problem, spec, derivatives, outputs, own, measured != nullptr ? &measurement : nullptr)
          .run(static_cast<int>(group / size.num_kv_heads), static_cast<int>(group % size.num_kv_heads), q, k,
               v);
      sums[static_cast<std::size_t>(group)] = std::move(own);
      errors[static_cast<std::size_t>(group)] = std::move(allowed);
    }
  });
  for (const InputGradients& own : sums) add(result, own);
  if (measured != nullptr)
    for (const InputGradients& own : errors) add(measured->allowed, own);
  return result;
}

}  // namespace

InputGradients reference_backward(const Problem& problem, const OutputGradients& outputs) {
  std::vector<std::uint8_t> is_doubtful;
  return run(problem, outputs, nullptr, is_doubtful);
}

ErrorBound gradient_bound(const Problem& problem) {
  const ProblemSize& size = problem.size;
  const int rows = size.q_len * (size.num_q_heads / size.num_kv_heads);
  return error_bound(problem.spec.dtype(), std::max(problem.spec.head_dim(), problem.spec.head_dim_v()),
                     std::max(size.kv_len, rows));
}

MeasuredGradients measured_backward(const Problem& problem, OutputGradients& outputs) {
  const ProblemSize& size = problem.size;
  std::vector<std::uint8_t> is_doubtful(static_cast<std::size_t>(size.batch) *
                                        static_cast<std::size_t>(size.num_q_heads) *
                                        static_cast<std::size_t>(size.q_len));
  while (true) {
    MeasuredGradients measured{.reference = {}, .allowed = zeros(problem), .doubtful_rows = 0};
    const std::vector<std::uint8_t> known = is_doubtful;
    measured.reference = run(problem, outputs, &measured, is_doubtful);
    measured.doubtful_rows = std::count(is_doubtful.begin(), is_doubtful.end(), 1);
    if (known == is_doubtful) return measured;
    const auto width = static_cast<std::size_t>(problem.spec.head_dim_v());
    for (std::size_t row = 0; row < is_doubtful.size(); ++row) {
      if (is_doubtful[row] == 0) continue;
      std::fill_n(outputs.o.begin() + static_cast<std::ptrdiff_t>(row * width), width, 0.0);
      if (!outputs.lse.empty()) outputs.lse[row] = 0;
    }
  }
}

}  // namespace fa::tools
