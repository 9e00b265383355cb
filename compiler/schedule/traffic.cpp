// Counting of operations and bytes. Only `hbm_bytes` is an estimate: see reads_of_kv.
#include "compiler/schedule/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/schedule/product.h"
#include "compiler/schedule/shape.h"

namespace fa {
namespace {

constexpr double kLseBytes = 4;

// Matrices of Nq x Nk that unfused attention moves for one head: S written and read, P written and read, and
// one more write and read for every step between that is its own kernel.
int matrix_passes(const CheckedSpec& spec, const Facts& facts) {
  const int extra_steps = (facts.score_form != ScoreForm::identity ? 1 : 0) +
                          (facts.has_mask && !facts.mask_is_always_true ? 1 : 0) + (spec.has_dropout ? 1 : 0);
  return 4 + 2 * extra_steps;
}

// How often the K and V of one head come from HBM. The CTAs of a head walk the same keys, and those that run
// together share one read. The next wave of that head reads again, unless K and V stayed in the L2.
double reads_of_kv(double bytes_of_one_head, double ctas_of_one_head, double ctas_together, double l2_bytes) {
  if (bytes_of_one_head <= l2_bytes) return 1;
  return std::max(1.0, std::ceil(ctas_of_one_head / ctas_together));
}

/// Bytes of a row of O before it is divided, f32, as wide as products make it.
double bytes_of_sums(const CheckedSpec& spec, const Target& target) {
  int whole = spec.dtype == DType::f32 ? 32 : 16;
  if (target.is_host()) {
    const HostCpu cpu = target.cpu != nullptr ? *target.cpu : HostCpu{};
    whole = product_of(spec.dtype, cpu) == HostProduct::tiles ? 32 : cpu.lanes;
  }
  return 4 * std::ceil(1.0 * spec.head_dim_v / whole) * whole;
}

/// What the passes of a baseline read from memory and write to it, for `rows` rows of all heads, beside what each takes once:
/// S and P whole, or each row's sums with every kv tile.
double bytes_of_steps(const Plan& plan, const CheckedSpec& spec, const Target& target, double rows,
                      double kv_len) {
  const double tiles = std::ceil(kv_len / plan.tile_kv);
  constexpr double kStatistics = 8;  // a row's maximum and sum, f32
  if (plan.loop_order == LoopOrder::standard) {
    // On the host S is f32, and a row has one maximum; on a GPU one for each tile.
    const double element = target.is_host() ? 4 : dtype_bytes(spec.dtype);
    const double maxima = target.is_host() ? 0 : 2 * 4 * tiles;
    return rows * (4 * tiles * plan.tile_kv * element + maxima + 2 * kStatistics);
  }
  const double sums = bytes_of_sums(spec, target) + kStatistics;
  return rows * ((tiles - 1) * spec.head_dim * dtype_bytes(spec.dtype) + 2 * tiles * sums);
}

double milliseconds(double amount, double per_second) {
  return per_second > 0 ? amount / per_second * 1e3 : 0;
}

}  // namespace

std::string_view bound_name(Bound bound) {
  switch (bound) {
    case Bound::exp2:
      return "exp2";
    case Bound::memory:
      return "memory";
    case Bound::tensor:
      break;
  }
  return "tensor";
}

Traffic count_traffic(const CheckedSpec& spec, const Facts& facts, const Plan& plan, const Target& target,
                      const ProblemSize& size) {
  const double element = dtype_bytes(spec.dtype);
  const double d = spec.head_dim;
  const double dv = spec.head_dim_v;
  const double q_len = size.q_len;
  const double kv_len = size.kv_len;
  const double q_heads = static_cast<double>(size.batch) * size.num_q_heads;
  const double kv_heads = static_cast<double>(size.batch) * size.num_kv_heads;
  const double pairs = q_heads * q_len * kv_len;

  const double q_and_o = q_heads * q_len * (d + dv) * element;
  const double captured = static_cast<double>(size.captured_bytes);
  const double lse = q_heads * q_len * kLseBytes;
  const double kv_of_one_head = kv_len * (d + dv) * element;
  const double ctas_of_one_head = std::ceil(q_len / plan.tile_q);

  Traffic traffic;
  traffic.flops = 2 * pairs * (d + dv);
  traffic.exps = pairs;
  traffic.least_bytes = q_and_o + lse + captured + kv_heads * kv_of_one_head;
  traffic.standard_bytes =
      q_and_o + captured + kv_heads * kv_of_one_head + matrix_passes(spec, facts) * pairs * element;
  traffic.fused_bytes = q_and_o + lse + captured + q_heads * ctas_of_one_head * kv_of_one_head;

  if (plan.loop_order == LoopOrder::standard)
    traffic.baseline_bytes =
        traffic.least_bytes + bytes_of_steps(plan, spec, target, q_heads * q_len, kv_len);
  if (plan.loop_order == LoopOrder::kv_outer)  // a CTA for each q head, which reads K and V
    traffic.baseline_bytes = traffic.least_bytes + (q_heads - kv_heads) * kv_of_one_head +
                             bytes_of_steps(plan, spec, target, q_heads * q_len, kv_len);

  traffic.standard_bytes_by_formula =
      q_heads * ((q_len + kv_len) / 2 * (d + dv) / 2 + q_len * kv_len) * element;
  if (target.max_smem_per_block > 0) {
    const double sram_elements = target.max_smem_per_block / element;
    traffic.fused_bytes_by_formula = pairs * d * dv / sram_elements * element;
  }
  if (target.is_host()) {
    traffic.hbm_bytes = traffic.least_bytes;
    return traffic;
  }

  const double group = std::max(1.0, q_heads / std::max(1.0, kv_heads));
  const double ctas_together = static_cast<double>(target.num_sms) * std::max(1, plan.min_ctas);
  const double reads = reads_of_kv(kv_of_one_head, ctas_of_one_head * group, ctas_together,
                                   static_cast<double>(target.l2_bytes));
  traffic.hbm_bytes = q_and_o + lse + captured + reads * kv_heads * kv_of_one_head;
  const double products_per_second =
      flops_per_clock(product_of(spec.dtype, target), target) * target.num_sms * target.clock_ghz * 1e9;
  const double exps_per_second = target.num_sms * target.exp2_per_clock_per_sm * target.clock_ghz * 1e9;
  traffic.tensor_ms = milliseconds(traffic.flops, products_per_second);
  traffic.exp2_ms = milliseconds(traffic.exps, exps_per_second);
  traffic.memory_ms = milliseconds(traffic.hbm_bytes, target.hbm_gb_per_s * 1e9);
  if (traffic.exp2_ms > traffic.tensor_ms) traffic.bound = Bound::exp2;
  if (traffic.memory_ms > std::max(traffic.tensor_ms, traffic.exp2_ms)) traffic.bound = Bound::memory;
  return traffic;
}

std::string Traffic::print() const {
  std::string text = fmt::format(
      "flops: {:.4g}\n"
      "exp2: {:.4g}\n"
      "standard attention: {:.4g} bytes ({:.4g} by the formula N d + N^2)\n",
      flops, exps, standard_bytes, standard_bytes_by_formula);
  text +=
      fused_bytes_by_formula > 0
          ? fmt::format("fused kernel: {:.4g} bytes loaded and stored ({:.4g} by the formula N^2 d^2 / M)\n",
                        fused_bytes, fused_bytes_by_formula)
          : fmt::format("fused kernel: {:.4g} bytes loaded and stored\n", fused_bytes);
  text += fmt::format("of these from memory: {:.4g} bytes (at least {:.4g})\n", hbm_bytes, least_bytes);
  if (tensor_ms > 0) {
    text += fmt::format("bound: {} (tensor {:.4g} ms, exp2 {:.4g} ms, memory {:.4g} ms)\n", bound_name(bound),
                        tensor_ms, exp2_ms, memory_ms);
  }
  return text;
}

}  // namespace fa
