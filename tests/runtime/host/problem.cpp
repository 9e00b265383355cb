#include "tests/runtime/host/problem.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "templates/common/philox.h"

namespace fa::test {

const std::vector<MeantItems>& items_that_keep_little() {
  static const std::vector<MeantItems> all = {
      {"score_mod = 9 * tanh(score / 9)\nmask_mod = q_idx >= kv_idx and q_idx - kv_idx < 20\n",
       {[](double s, int, int, int, int) { return 9 * std::tanh(s / 9); },
        [](int, int, int q, int kv) { return q >= kv && q - kv < 20; }}},
      {"score_mod = score + 0.01 * (kv_idx - q_idx)\nmask_mod = q_idx >= kv_idx + 9\n",
       {[](double s, int, int, int q, int kv) { return s + 0.01 * (kv - q); },
        [](int, int, int q, int kv) { return q >= kv + 9; }}},
      {"mask_mod = q_idx % 3 == 0 and kv_idx % 7 == 0\n",
       {{}, [](int, int, int q, int kv) { return q % 3 == 0 && kv % 7 == 0; }}},
  };
  return all;
}

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Rounds to a binary format with `bits` of significand and smallest exponent `lowest`, by scaling: no bit
/// tricks that the code under test might share.
double round_to(double x, int bits, int lowest) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), lowest);
  return std::ldexp(std::nearbyint(std::ldexp(x, bits - 1 - exponent)), exponent - (bits - 1));
}

std::uint16_t half_bits(double x) {
  x = round_to(x, 11, -14);
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  if (x < std::ldexp(1, -14)) return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(x, 24)));
  const int exponent = std::ilogb(x);
  const int fraction = static_cast<int>(std::ldexp(x, 10 - exponent)) - 1024;
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) | fraction);
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                           : exponent == 31 ? (fraction ? std::nan("") : kInf)
                                            : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// A tensor in memory with its strides in elements.
struct Stored {
  std::vector<std::uint8_t> bytes;
  TensorStrides strides{};
  std::vector<double> values;  // [batch, heads, length, dim], as stored
};

/// A number of mean 0 and variance 1, near to normal: the sum of four uniform ones. std::normal_distribution computes logarithms
/// of the generator's range at each draw, which took a fifth of host tests under sanitizers.
double random_number(std::mt19937& random) {
  constexpr double kLargest = 65535;  // of 16 bits
  double sum = 0;
  for (const std::uint32_t bits : {random(), random()}) sum += (bits & 0xffff) + (bits >> 16 & 0xffff);
  return (sum / kLargest - 2) * std::sqrt(3.0);
}

Stored store(const HostProblem& problem, DType dtype, int heads, int length, int dim, std::mt19937& random,
             double spread) {
  Stored stored;
  const auto size = [&](int n) { return static_cast<long long>(n); };
  switch (problem.layout) {
    case Layout::bhsd:
      stored.strides = {size(heads) * length * dim, size(length) * dim, dim};
      break;
    case Layout::bshd:
      stored.strides = {size(heads) * length * dim, dim, size(heads) * dim};
      break;
    case Layout::padded:
      stored.strides = {size(heads) * (size(length) * (dim + 5) + 3) + 7, size(length) * (dim + 5) + 3,
                        dim + 5};
      break;
  }
  std::vector<double> memory(static_cast<std::size_t>(stored.strides.batch * problem.batch), -77);
  std::vector<std::size_t> places;
  for (int b = 0; b < problem.batch; ++b)
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < length; ++i)
        for (int d = 0; d < dim; ++d) {
          const auto at = static_cast<std::size_t>(b * stored.strides.batch + h * stored.strides.head +
                                                   i * stored.strides.row + d);
          places.push_back(at);
          memory[at] = spread == 0 ? -77 : spread * random_number(random);
        }
  stored.bytes = encode(memory, dtype);
  const std::vector<double> rounded = decode(stored.bytes, dtype);
  for (const std::size_t at : places) stored.values.push_back(rounded[at]);
  return stored;
}

/// Runs a baseline in as much workspace as it says it needs, aligned to no more than it asks for and full of NaN. Returns
/// whether the memory on either side is as before.
bool run_guarded(const HostBaselineKernel& kernel, const ForwardParams& params, int threads) {
  constexpr std::size_t kGuard = 4096;
  constexpr std::uint8_t kNan = 0xff;
  const std::size_t bytes = host_baseline_workspace(kernel, params.call);
  std::vector<std::uint8_t> memory(bytes + 2 * kGuard + 64, kNan);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) + kGuard;
  const std::size_t first = kGuard + (64 - address % 64) % 64 + 16;
  run_host_baseline(kernel, params, memory.data() + first, threads);
  const auto is_nan = [](std::uint8_t byte) { return byte == kNan; };
  const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(first);
  return std::all_of(memory.begin(), begin, is_nan) &&
         std::all_of(begin + static_cast<std::ptrdiff_t>(bytes), memory.end(), is_nan);
}

HostResult reference(const CheckedSpec& spec, const HostProblem& p, const Meaning& meaning, const Stored& q,
                     const Stored& k, const Stored& v, unsigned threshold, double keep_scale) {
  HostResult result;
  const int d_qk = spec.head_dim, d_v = spec.head_dim_v, group = p.q_heads / p.kv_heads;
  std::vector<double> probs(static_cast<std::size_t>(p.kv_len));
  for (int b = 0; b < p.batch; ++b)
    for (int h = 0; h < p.q_heads; ++h)
      for (int i = 0; i < p.q_len; ++i) {
        const double* q_row =
            q.values.data() + (static_cast<std::size_t>(b * p.q_heads + h) * p.q_len + i) * d_qk;
        const auto kv_head =
            static_cast<std::size_t>(b * p.kv_heads + h / group) * static_cast<std::size_t>(p.kv_len);
        double largest = -kInf, sum = 0;
        for (int j = 0; j < p.kv_len; ++j) {
          const double* k_row =
              k.values.data() + (kv_head + static_cast<std::size_t>(j)) * static_cast<std::size_t>(d_qk);
          double score = 0;
          for (int d = 0; d < d_qk; ++d) score += q_row[d] * k_row[d];
          score *= spec.scale;
          if (meaning.score) score = meaning.score(score, b, h, i, j);
          if (meaning.mask && !meaning.mask(b, h, i, j)) score = -kInf;
          probs[static_cast<std::size_t>(j)] = score;
          largest = std::max(largest, score);
        }
        if (largest > -kInf)
          for (double& prob : probs) sum += prob = std::exp(prob - largest);
        result.lse.push_back(sum > 0 ? largest + std::log(sum) : -kInf);
        std::vector<double> o(static_cast<std::size_t>(d_v), 0.0);
        if (sum > 0)
          for (int j = 0; j < p.kv_len; ++j) {
            const double* v_row =
                v.values.data() + (kv_head + static_cast<std::size_t>(j)) * static_cast<std::size_t>(d_v);
            double prob = probs[static_cast<std::size_t>(j)] / sum;
            if (threshold != 0) {
              const unsigned bits = dropout_bits(p.seed, static_cast<unsigned>(b * p.q_heads + h),
                                                 static_cast<unsigned>(i), static_cast<unsigned>(j));
              prob = bits >= threshold ? prob * keep_scale : 0;
            }
            for (int d = 0; d < d_v; ++d) o[static_cast<std::size_t>(d)] += prob * v_row[d];
          }
        result.o.insert(result.o.end(), o.begin(), o.end());
      }
  return result;
}

}  // namespace

std::vector<std::uint8_t> encode(const std::vector<double>& values, DType dtype) {
  std::vector<std::uint8_t> bytes(values.size() * static_cast<std::size_t>(dtype_bytes(dtype)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::f32) {
      const auto value = static_cast<float>(values[i]);
      std::memcpy(bytes.data() + i * 4, &value, 4);
    } else {
      const std::uint16_t bits =
          dtype == DType::f16
              ? half_bits(values[i])
              : static_cast<std::uint16_t>(
                    std::bit_cast<std::uint32_t>(static_cast<float>(round_to(values[i], 8, -126))) >> 16);
      std::memcpy(bytes.data() + i * 2, &bits, 2);
    }
  }
  return bytes;
}

std::vector<double> decode(const std::vector<std::uint8_t>& bytes, DType dtype) {
  std::vector<double> values(bytes.size() / static_cast<std::size_t>(dtype_bytes(dtype)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::f32) {
      float value;
      std::memcpy(&value, bytes.data() + i * 4, 4);
      values[i] = static_cast<double>(value);
    } else {
      std::uint16_t bits;
      std::memcpy(&bits, bytes.data() + i * 2, 2);
      values[i] = dtype == DType::f16
                      ? half_value(bits)
                      : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
    }
  }
  return values;
}

Plan host_plan(int tile_q, int tile_kv) {
  return {.family = Family::host, .tile_q = tile_q, .tile_kv = tile_kv, .warps = 1};
}

HostIr host_code(const CheckedSpec& spec, int tile_q, int tile_kv, const HostCpu& cpu) {
  const HookIr hooks = lower(spec);
  return emit_host(spec, hooks, analyse(spec, hooks), derive_tile_classes(hooks), host_plan(tile_q, tile_kv),
                   cpu);
}

HostIr baseline_code(const CheckedSpec& spec, LoopOrder order, int tile_q, int tile_kv, const HostCpu& cpu) {
  const HookIr hooks = lower(spec);
  Plan plan = host_plan(tile_q, tile_kv);
  plan.loop_order = order;
  return emit_host_baseline(spec, hooks, analyse(spec, hooks), plan, cpu);
}

HostCase host_case(const CheckedSpec& spec, int tile_q, int tile_kv) {
  return {.spec = spec, .kernel = load_host(host_object(host_code(spec, tile_q, tile_kv)))};
}

HostCase host_case(const std::string& text, int tile_q, int tile_kv) {
  return host_case(Spec::parse(text).checked(), tile_q, tile_kv);
}

Compared compare(const HostCase& host, const HostProblem& problem, const Meaning& meaning,
                 const HostResult* known_reference) {
  const CheckedSpec& spec = host.spec;
  std::mt19937 random(static_cast<unsigned>(problem.q_len * 7 + problem.kv_len));
  const auto spread = static_cast<double>(problem.spread);
  const Stored q = store(problem, spec.dtype, problem.q_heads, problem.q_len, spec.head_dim, random, spread);
  const Stored k =
      store(problem, spec.dtype, problem.kv_heads, problem.kv_len, spec.head_dim, random, spread);
  const Stored v = store(problem, spec.dtype, problem.kv_heads, problem.kv_len, spec.head_dim_v, random, 1);
  Stored o = store(problem, spec.dtype, problem.q_heads, problem.q_len, spec.head_dim_v, random, 0);
  const std::vector<std::uint8_t> before = o.bytes;
  const auto rows = static_cast<std::size_t>(problem.batch * problem.q_heads * problem.q_len);
  std::vector<float> lse(rows, -77.0f);

  ForwardParams params{};
  params.q = q.bytes.data(), params.k = k.bytes.data(), params.v = v.bytes.data(), params.o = o.bytes.data();
  params.lse = lse.data();
  params.q_strides = q.strides, params.k_strides = k.strides, params.v_strides = v.strides,
  params.o_strides = o.strides;
  params.call.batch = problem.batch, params.call.num_q_heads = problem.q_heads,
  params.call.num_kv_heads = problem.kv_heads;
  params.call.group_size = problem.q_heads / problem.kv_heads;
  params.call.q_len = problem.q_len, params.call.kv_len = problem.kv_len;
  params.call.scale = static_cast<float>(spec.scale);
  params.call.scale_log2 = static_cast<float>(spec.scale * 1.4426950408889634);
  params.call.drop_threshold = static_cast<unsigned>(std::lround(problem.dropout * 65536));
  params.call.keep_scale = params.call.drop_threshold < 65536
                               ? static_cast<float>(65536.0 / (65536 - params.call.drop_threshold))
                               : 0.0f;
  params.call.seed = problem.seed;
  for (std::size_t i = 0; i < problem.params.size(); ++i) params.call.params[i] = problem.params[i];
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) params.call.tensors[i] = problem.tensors[i];
  Compared compared;
  if (host.baseline) {
    compared.gaps_untouched = run_guarded(*host.baseline, params, problem.threads);
  } else {
    run_host(*host.kernel, params, problem.threads);
  }
  compared.reference = known_reference != nullptr
                           ? *known_reference
                           : reference(spec, problem, meaning, q, k, v, params.call.drop_threshold,
                                       static_cast<double>(params.call.keep_scale));
  const std::vector<double> all = decode(o.bytes, spec.dtype);
  std::vector<bool> written(all.size(), false);
  for (int b = 0; b < problem.batch; ++b)
    for (int h = 0; h < problem.q_heads; ++h)
      for (int i = 0; i < problem.q_len; ++i)
        for (int d = 0; d < spec.head_dim_v; ++d) {
          const auto at =
              static_cast<std::size_t>(b * o.strides.batch + h * o.strides.head + i * o.strides.row + d);
          compared.host.o.push_back(all[at]);
          written[at] = true;
        }
  const std::vector<double> old = decode(before, spec.dtype);
  for (std::size_t i = 0; i < all.size(); ++i) compared.gaps_untouched &= written[i] || all[i] == old[i];
  for (const float value : lse) compared.host.lse.push_back(static_cast<double>(value));
  return compared;
}

double worst_error(const Compared& compared) {
  double worst = compared.gaps_untouched ? 0 : kInf;
  auto look = [&](const std::vector<double>& host, const std::vector<double>& reference) {
    if (host.size() != reference.size()) worst = kInf;
    for (std::size_t i = 0; i < std::min(host.size(), reference.size()); ++i) {
      if (host[i] == reference[i]) continue;  // equal infinities too
      const double error = std::fabs(host[i] - reference[i]) / (1 + std::fabs(reference[i]));
      worst = std::max(worst, std::isnan(error) ? kInf : error);
    }
  };
  look(compared.host.o, compared.reference.o);
  look(compared.host.lse, compared.reference.lse);
  return worst;
}

double error_bound(const CheckedSpec& spec, double dropout) {
  const double rounding = spec.dtype == DType::f32 ? 0 : spec.dtype == DType::f16 ? 0x1p-12 : 0x1p-9;
  return rounding + rounding / (1 - dropout) + 1e-5;
}

}  // namespace fa::test
