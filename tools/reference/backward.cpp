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
#include <functional>

#include "compiler/derive/derive.h"
#include "compiler/ir/import/import.h"
#include "tools/reference/dropout.h"
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

void add_scaled(double* to, double factor, const double* from, int n) {
  for (int i = 0; i < n; ++i) to[i] += factor * from[i];
}

/// Adds one adjoint's share of a row's keys to the params' or the tensors' gradients.
class AdjointSum {
 public:
  explicit AdjointSum(const Adjoint& adjoint) : adjoint_(adjoint), value_(adjoint.value.expr) {
    for (const Derived& index : adjoint.indices) indices_.emplace_back(index.expr);
  }

  /// `logits`: the gradients by the logits of `lanes` keys from `environment`'s kv_idx on.
  void add(const Environment& environment, const double* logits, int lanes, InputGradients& result) {
    iterate(0, environment, [&] {
      const std::span<const double> values = value_.evaluate_f32(environment, lanes);
      if (adjoint_.of == Adjoint::Of::param) {
        for (int j = 0; j < lanes; ++j)
          if (logits[j] != 0) result.params[at()] += logits[j] * values[static_cast<std::size_t>(j)];
        return;
      }
      const HostTensor& tensor = environment.tensors[at()];
      std::vector<std::int64_t> elements(static_cast<std::size_t>(lanes));
      for (std::size_t d = 0; d < indices_.size(); ++d) {
        const std::span<const std::int32_t> index = indices_[d].evaluate_i32(environment, lanes);
        for (std::size_t j = 0; j < elements.size(); ++j)
          elements[j] = elements[j] * tensor.shape[d] + index[j];
      }
      for (std::size_t j = 0; j < elements.size(); ++j)
        if (logits[j] != 0)
          result.tensors[at()][static_cast<std::size_t>(elements[j])] += logits[j] * values[j];
    });
  }

 private:
  std::size_t at() const { return static_cast<std::size_t>(adjoint_.index); }

  /// Runs `body` for every iteration of the reductions around the read.
  void iterate(std::size_t depth, const Environment& environment, const std::function<void()>& body) {
    if (depth == adjoint_.loops.size()) return body();
    const DerivedLoop& loop = adjoint_.loops[depth];
    const int count =
        loop.range ? std::min(loop.count, evaluate_scalar(loop.range, environment)) : loop.count;
    for (int i = 0; i < count; ++i) {
      value_.set_loop(loop.id, i);
      for (Interpreter& index : indices_) index.set_loop(loop.id, i);
      iterate(depth + 1, environment, body);
    }
  }

  const Adjoint& adjoint_;
  Interpreter value_;
  std::vector<Interpreter> indices_;
};

/// The heads of one group, row by row.
class GroupBackward {
 public:
  GroupBackward(const Problem& problem, const CheckedSpec& spec, const Derivatives& derivatives,
                const OutputGradients& outputs, InputGradients& result)
      : problem_(problem),
        size_(problem.size),
        spec_(spec),
        outputs_(outputs),
        result_(result),
        environment_(problem_environment(problem)),
        d_score_(derivatives.score_mod.score.expr) {
    if (spec.score_mod) score_mod_.emplace(spec.score_mod);
    if (spec.mask_mod) mask_mod_.emplace(spec.mask_mod);
    if (spec.sink) sink_.emplace(spec.sink);
    for (const Adjoint& adjoint : derivatives.score_mod.adjoints) of_score_mod_.emplace_back(adjoint);
    for (const Adjoint& adjoint : derivatives.sink.adjoints) of_sink_.emplace_back(adjoint);
    const auto keys = static_cast<std::size_t>(size_.kv_len);
    for (auto* values : {&scores_, &logits_, &probs_, &d_logits_, &factors_}) values->resize(keys);
  }

  void run(int b, int kv_head, const std::vector<double>& q, const std::vector<double>& k,
           const std::vector<double>& v) {
    const int group_size = size_.num_q_heads / size_.num_kv_heads;
    const std::int64_t kv_row = (std::int64_t{b} * size_.num_kv_heads + kv_head) * size_.kv_len;
    k_ = k.data() + kv_row * spec_.head_dim;
    v_ = v.data() + kv_row * spec_.head_dim_v;
    d_k_ = result_.k.data() + kv_row * spec_.head_dim;
    d_v_ = result_.v.data() + kv_row * spec_.head_dim_v;
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
  /// Calls body(first key, how many) for as many keys as the interpreter takes at a time.
  template <class Body>
  void for_lanes(const Body& body) {
    for (int first = 0; first < size_.kv_len; first += Interpreter::kLanes) {
      environment_[Builtin::kv_idx] = first;
      environment_.score = scores_.data() + first;
      body(first, std::min(Interpreter::kLanes, size_.kv_len - first));
    }
  }

  void find_logits(const double* q) {
    for (int j = 0; j < size_.kv_len; ++j)
      scores_[static_cast<std::size_t>(j)] =
          spec_.scale * dot(q, k_ + std::int64_t{j} * spec_.head_dim, spec_.head_dim);
    logits_ = scores_;
    for_lanes([&](int first, int lanes) {
      double* const logits = logits_.data() + first;
      if (score_mod_) std::ranges::copy(score_mod_->evaluate_f32(environment_, lanes), logits);
      if (!mask_mod_) return;
      const std::span<const std::int32_t> kept = mask_mod_->evaluate_i32(environment_, lanes);
      for (int j = 0; j < lanes; ++j)
        if (kept[static_cast<std::size_t>(j)] == 0) logits[j] = -kInfinity;
    });
  }

  void row(std::int64_t number, const RowId& id, const double* q) {
    find_logits(q);
    environment_[Builtin::kv_idx] = 0;
    const double sink = sink_ ? sink_->evaluate_f32(environment_, 1)[0] : -kInfinity;
    double row_max = sink;
    for (const double logit : logits_) row_max = std::max(row_max, logit);
    if (row_max == -kInfinity) return;
    double row_sum = std::exp(sink - row_max);
    for (const double logit : logits_) row_sum += std::exp(logit - row_max);

    const double* const d_o = outputs_.o.data() + number * spec_.head_dim_v;
    const double d_lse = outputs_.lse.empty() ? 0 : outputs_.lse[static_cast<std::size_t>(number)];
    const std::uint32_t threshold = problem_.drops() ? dropout_threshold(problem_.dropout) : 0;
    const double keep_scale = threshold >= 65536 ? 0 : 65536.0 / (65536.0 - threshold);
    double d_sum = 0;  // D of the paper
    for (std::size_t j = 0; j < logits_.size(); ++j) {
      probs_[j] = std::exp(logits_[j] - row_max) / row_sum;
      const auto key = static_cast<std::int64_t>(j);
      const bool is_kept = threshold == 0 || dropout_keeps(problem_.dropout_seed, threshold, id.b, id.h,
                                                           size_.num_q_heads, id.q_idx, static_cast<int>(j));
      const double factor = is_kept ? keep_scale : 0;
      d_logits_[j] = 0;
      if (probs_[j] == 0 || factor == 0) continue;
      d_logits_[j] = factor * dot(d_o, v_ + key * spec_.head_dim_v, spec_.head_dim_v);  // dp so far
      d_sum += probs_[j] * d_logits_[j];
      add_scaled(d_v_ + key * spec_.head_dim_v, probs_[j] * factor, d_o, spec_.head_dim_v);
    }
    for (std::size_t j = 0; j < logits_.size(); ++j)
      d_logits_[j] = probs_[j] == 0 ? 0 : probs_[j] * (d_logits_[j] - d_sum + d_lse);
    give_on(q, number);

    const double d_sink = std::exp(sink - row_max) / row_sum * (d_lse - d_sum);
    environment_[Builtin::kv_idx] = 0;
    for (AdjointSum& adjoint : of_sink_) adjoint.add(environment_, &d_sink, 1, result_);
  }

  /// From the logits to the scores, and on to q, k and what score_mod captures.
  void give_on(const double* q, std::int64_t number) {
    double* const d_q = result_.q.data() + number * spec_.head_dim;
    for_lanes([&](int first, int lanes) {
      double* const factors = factors_.data() + first;
      std::ranges::copy(d_score_.evaluate_f32(environment_, lanes), factors);
      for (AdjointSum& adjoint : of_score_mod_)
        adjoint.add(environment_, d_logits_.data() + first, lanes, result_);
    });
    for (std::size_t j = 0; j < d_logits_.size(); ++j) {
      if (d_logits_[j] == 0) continue;
      const double d_score = spec_.scale * d_logits_[j] * factors_[j];
      const std::int64_t at = static_cast<std::int64_t>(j) * spec_.head_dim;
      add_scaled(d_q, d_score, k_ + at, spec_.head_dim);
      add_scaled(d_k_ + at, d_score, q, spec_.head_dim);
    }
  }

  const Problem& problem_;
  const ProblemSize& size_;
  const CheckedSpec& spec_;
  const OutputGradients& outputs_;
  InputGradients& result_;
  Environment environment_;
  Interpreter d_score_;
  std::optional<Interpreter> score_mod_, mask_mod_, sink_;
  std::vector<AdjointSum> of_score_mod_, of_sink_;
  const double *k_ = nullptr, *v_ = nullptr;
  double *d_k_ = nullptr, *d_v_ = nullptr;
  std::vector<double> scores_, logits_, probs_, d_logits_, factors_;
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

}  // namespace

InputGradients reference_backward(const Problem& problem, const OutputGradients& outputs) {
  const ProblemSize& size = problem.size;
  const CheckedSpec spec = import_hooks(problem.spec.checked());
  const Derivatives derivatives = derive(spec, lower(spec));
  const std::vector<double> q = widened(problem.q), k = widened(problem.k), v = widened(problem.v);
  InputGradients result = zeros(problem);
  const auto groups = std::int64_t{size.batch} * size.num_kv_heads;
  // Groups share captured tensors alone: each has its own sums of those, added up in the groups' order.
  std::vector<InputGradients> captured(static_cast<std::size_t>(groups));
  parallel_for(groups, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      InputGradients own = zeros(problem);
      GroupBackward(problem, spec, derivatives, outputs, own)
          .run(static_cast<int>(group / size.num_kv_heads), static_cast<int>(group % size.num_kv_heads), q, k,
               v);
      captured[static_cast<std::size_t>(group)] = std::move(own);
    }
  });
  const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  for (const InputGradients& own : captured) {
    add(result.q, own.q);
    add(result.k, own.k);
    add(result.v, own.v);
    add(result.params, own.params);
    for (std::size_t i = 0; i < own.tensors.size(); ++i) add(result.tensors[i], own.tensors[i]);
  }
  return result;
}

}  // namespace fa::tools
