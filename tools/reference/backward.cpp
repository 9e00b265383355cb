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
#include <atomic>
#include <cmath>
#include <functional>

#include "compiler/derive/derive.h"
#include "compiler/ir/import/import.h"
#include "tools/reference/dropout.h"
#include "tools/reference/gradients/adjoint_sum.h"
#include "tools/reference/gradients/errors.h"
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

/// The root of the sum of the products' squares: what the rounding errors of a sum grow with.
double root_of_squares(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * a[i] * b[i] * b[i];
  return std::sqrt(sum);
}

void add_scaled(double* to, double factor, const double* from, int n) {
  for (int i = 0; i < n; ++i) to[i] += factor * from[i];
}

/// Where a run of the reference leaves what it finds, beside the gradients.
struct Measurement {
  GradientErrors* errors;
  ErrorBound bound;
  std::vector<std::uint8_t>* is_doubtful;  // by row
  std::function<void()> on_row;            // when one is done
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
         {&scores_, &logits_, &errors_, &probs_, &sizes_, &d_logits_, &factors_, &factor_errors_})
      values->resize(keys);
    d_errors_.resize(keys);
    o_.resize(static_cast<std::size_t>(spec.head_dim_v));
    mean_k_.resize(static_cast<std::size_t>(spec.head_dim));
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
        if (measures()) measurement_->on_row();
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

  /// Whether the loss depends on the row.
  bool has_gradient(std::int64_t number) const {
    const double* const d_o = outputs_.o.data() + number * spec_.head_dim_v;
    return std::any_of(d_o, d_o + spec_.head_dim_v, [](double x) { return x != 0; }) ||
           (!outputs_.lse.empty() && outputs_.lse[static_cast<std::size_t>(number)] != 0);
  }

  void row(std::int64_t number, const RowId& id, const double* q) {
    if (!has_gradient(number)) return;
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
      if (!(logit <= row_max)) row_max = logit;  // a NaN stays, so that the row becomes NaN
      if (std::isfinite(logit)) max_logit = std::max(max_logit, std::fabs(logit));
    }
    if (row_max == -kInfinity) return;
    double row_sum = std::exp(sink - row_max);
    for (const double logit : logits_) row_sum += std::exp(logit - row_max);
    const double sink_prob = std::exp(sink - row_max) / row_sum;

    double mean_error = sink_prob * sink_error;  // that of lse, by the hooks' errors
    for (std::size_t j = 0; j < logits_.size(); ++j) {
      probs_[j] = logits_[j] == -kInfinity ? 0 : std::exp(logits_[j] - row_max) / row_sum;
      if (probs_[j] != 0) mean_error += probs_[j] * errors_[j];
    }
    row_error_ = RowError(measures() ? measurement_->bound : ErrorBound{}, max_logit, mean_error);

    const double* const d_o = outputs_.o.data() + number * spec_.head_dim_v;
    const double d_lse = outputs_.lse.empty() ? 0 : outputs_.lse[static_cast<std::size_t>(number)];
    const std::uint32_t threshold = problem_.drops() ? dropout_threshold(problem_.dropout) : 0;
    const double keep_scale = threshold >= 65536 ? 0 : 65536.0 / (65536.0 - threshold);
    double d_sum = 0;  // D of the paper
    double d_excess = 0;
    std::ranges::fill(o_, 0.0);
    for (std::size_t j = 0; j < logits_.size(); ++j) {
      const auto key = static_cast<std::int64_t>(j);
      const bool is_kept = threshold == 0 || dropout_keeps(problem_.dropout_seed, threshold, id.b, id.h,
                                                           size_.num_q_heads, id.q_idx, static_cast<int>(j));
      const double factor = is_kept ? keep_scale : 0;
      d_logits_[j] = sizes_[j] = 0;
      if (probs_[j] == 0 || factor == 0) continue;
      const double* const v = v_ + key * spec_.head_dim_v;
      const std::int64_t at = at_v_ + key * spec_.head_dim_v;
      const double weight = probs_[j] * factor;
      d_logits_[j] = factor * dot(d_o, v, spec_.head_dim_v);  // dp so far
      d_sum += probs_[j] * d_logits_[j];
      add_scaled(result_.v.data() + at, weight, d_o, spec_.head_dim_v);
      if (!measures()) continue;
      add_scaled(o_.data(), weight, v, spec_.head_dim_v);
      sizes_[j] = factor * root_of_squares(d_o, v, spec_.head_dim_v);
      const TermError error = row_error_.of(errors_[j]);
      d_excess += probs_[j] * error.linear * std::fabs(d_logits_[j]);
      measurement_->errors->v.add(at, {weight * error.random, weight * error.linear}, d_o, spec_.head_dim_v);
    }
    const double d_size = measures() ? root_of_squares(d_o, o_.data(), spec_.head_dim_v) : 0;
    // Of a gradient by a logit: P's relative error, and those of dP and D.
    const auto error_of = [&](double hook_error, double prob, double d_logit, double size) {
      const TermError relative = row_error_.of(hook_error);
      return TermError{relative.random * std::fabs(d_logit) + row_error_.base() * prob * (size + d_size),
                       relative.linear * std::fabs(d_logit) + prob * d_excess};
    };
    for (std::size_t j = 0; j < logits_.size(); ++j) {
      d_logits_[j] = probs_[j] == 0 ? 0 : probs_[j] * (d_logits_[j] - d_sum + d_lse);
      d_errors_[j] = probs_[j] == 0 || !measures() ? TermError{}
                                                   : error_of(errors_[j], probs_[j], d_logits_[j], sizes_[j]);
    }
    give_on(q, number, d_size);

    const double d_sink = sink_prob == 0 ? 0 : sink_prob * (d_lse - d_sum);
    const TermError d_sink_error = sink_prob == 0 ? TermError{} : error_of(sink_error, sink_prob, d_sink, 0);
    environment_[Builtin::kv_idx] = 0;
    for (AdjointSum& adjoint : of_sink_) give_on(adjoint, &d_sink, &d_sink_error, 1);
    if (measures()) measurement_->errors->end_row();
    if (measures() && is_doubtful_) (*measurement_->is_doubtful)[static_cast<std::size_t>(number)] = 1;
  }

  void give_on(AdjointSum& adjoint, const double* logits, const TermError* errors, int lanes) {
    adjoint.add(environment_, logits, errors, lanes, row_error_.base(), result_,
                measures() ? measurement_->errors : nullptr);
    is_doubtful_ |= adjoint.take_doubt();
  }

  /// From the logits to the scores, and on to q, k and what score_mod captures.
  void give_on(const double* q, std::int64_t number, double d_size) {
    for_lanes([&](int first, int lanes) {
      std::ranges::copy(d_score_.evaluate_f32(environment_, lanes), factors_.data() + first);
      std::ranges::copy(d_score_.errors(), factor_errors_.data() + first);
      note(d_score_, lanes, [&](int j) { return probs_[static_cast<std::size_t>(first + j)] != 0; });
      for (AdjointSum& adjoint : of_score_mod_)
        give_on(adjoint, d_logits_.data() + first, d_errors_.data() + first, lanes);
    });
    const std::int64_t at_q = number * spec_.head_dim;
    std::ranges::fill(mean_k_, 0.0);
    for (std::size_t j = 0; j < d_logits_.size(); ++j) {
      const std::int64_t at = static_cast<std::int64_t>(j) * spec_.head_dim;
      if (d_logits_[j] != 0) {
        const double d_score = spec_.scale * d_logits_[j] * factors_[j];
        add_scaled(result_.q.data() + at_q, d_score, k_ + at, spec_.head_dim);
        add_scaled(result_.k.data() + at_k_ + at, d_score, q, spec_.head_dim);
      }
      if (!measures() || probs_[j] == 0) continue;
      const TermError error = d_errors_[j].times(spec_.scale * d_logits_[j], spec_.scale * factors_[j],
                                                 factor_errors_[j], row_error_.base());
      measurement_->errors->q.add(at_q, error, k_ + at, spec_.head_dim);
      measurement_->errors->k.add(at_k_ + at, error, q, spec_.head_dim);
      add_scaled(mean_k_.data(), spec_.scale * probs_[j] * factors_[j], k_ + at, spec_.head_dim);
    }
    if (!measures()) return;
    // What is the same for all keys of the row does not average out: the errors of lse and D.
    measurement_->errors->q.add(at_q, {0, row_error_.whole()}, result_.q.data() + at_q, spec_.head_dim);
    measurement_->errors->q.add(at_q, {0, row_error_.base() * d_size}, mean_k_.data(), spec_.head_dim);
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
  RowError row_error_;
  std::vector<double> o_, mean_k_;  // of the row: sum_j P_j Z_j v_j, and sum_j P_j d score_mod k_j
  // By key. `sizes` are what the errors of dP's sums grow with.
  std::vector<double> scores_, logits_, errors_, probs_, sizes_, d_logits_, factors_, factor_errors_;
  std::vector<TermError> d_errors_;
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

/// One run over all rows. `errors` may be null; else they are added to, and doubtful rows are marked.
InputGradients run(const Problem& problem, const OutputGradients& outputs, GradientErrors* errors,
                   std::vector<std::uint8_t>& is_doubtful, const OnProgress& on_progress) {
  const ProblemSize& size = problem.size;
  const CheckedSpec spec = import_hooks(problem.spec.checked());
  const Derivatives derivatives = derive(spec, lower(spec));
  const std::vector<double> q = widened(problem.q), k = widened(problem.k), v = widened(problem.v);
  InputGradients result = zeros(problem);
  const auto groups = std::int64_t{size.batch} * size.num_kv_heads;
  // Groups share captured tensors alone: each has its own sums of those, added up in the groups' order.
  std::vector<InputGradients> sums(static_cast<std::size_t>(groups));
  std::vector<GradientErrors> group_errors(sums.size());
  const double rows = static_cast<double>(size.batch) * size.num_q_heads * size.q_len;
  std::atomic<std::int64_t> done{0};
  const auto on_row = [&] {
    if (++done % 64 == 0 && on_progress) on_progress(static_cast<double>(done) / rows);
  };
  parallel_for(groups, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      const auto at = static_cast<std::size_t>(group);
      sums[at] = zeros(problem);
      if (errors != nullptr) group_errors[at] = GradientErrors(sums[at]);
      const Measurement measurement{.errors = &group_errors[at],
                                    .bound = gradient_bound(problem),
                                    .is_doubtful = &is_doubtful,
                                    .on_row = on_row};
      GroupBackward(problem, spec, derivatives, outputs, sums[at], errors != nullptr ? &measurement : nullptr)
          .run(static_cast<int>(group / size.num_kv_heads), static_cast<int>(group % size.num_kv_heads), q, k,
               v);
    }
  });
  for (const InputGradients& own : sums) add(result, own);
  if (errors != nullptr)
    for (const GradientErrors& own : group_errors) errors->add(own);
  return result;
}

}  // namespace

InputGradients reference_backward(const Problem& problem, const OutputGradients& outputs) {
  std::vector<std::uint8_t> is_doubtful;
  return run(problem, outputs, nullptr, is_doubtful, {});
}

MeasuredGradients measured_backward(const Problem& problem, OutputGradients& outputs,
                                    const OnProgress& on_progress) {
  const ProblemSize& size = problem.size;
  std::vector<std::uint8_t> is_doubtful(static_cast<std::size_t>(size.batch) *
                                        static_cast<std::size_t>(size.num_q_heads) *
                                        static_cast<std::size_t>(size.q_len));
  while (true) {
    GradientErrors errors(zeros(problem));
    const std::vector<std::uint8_t> known = is_doubtful;
    const InputGradients reference = run(problem, outputs, &errors, is_doubtful, on_progress);
    if (known == is_doubtful)
      return {.reference = reference,
              .allowed = errors.allowed(reference, gradient_bound(problem)),
              .doubtful_rows = std::count(is_doubtful.begin(), is_doubtful.end(), 1)};
    const auto width = static_cast<std::size_t>(problem.spec.head_dim_v());
    for (std::size_t row = 0; row < is_doubtful.size(); ++row) {
      if (is_doubtful[row] == 0) continue;
      std::fill_n(outputs.o.begin() + static_cast<std::ptrdiff_t>(row * width), width, 0.0);
      if (!outputs.lse.empty()) outputs.lse[row] = 0;
    }
  }
}

}  // namespace fa::tools
