// Every GPU with tf32 multiplies it at half its 16-bit rate, and 3xTF32 takes three such products for one.
#include "compiler/schedule/product.h"

#include <fmt/format.h>

namespace fa {
namespace {

constexpr double kTf32Share = 0.5 / 3;
// The share of the peak that a kernel can reach that reads its operands from shared memory: 64 FFMAs of a
// thread take five 16-byte reads, which keep shared memory busy four fifths of the time.
constexpr double kFfmaShare = 0.5;

double tera(double flops_of_clock, const Target& target) {
  return flops_of_clock * target.num_sms * target.clock_ghz / 1e3;
}

}  // namespace

Product product_of(DType dtype, const Target& target) {
  if (dtype != DType::f32) return Product::mma;
  if (!target.has_tf32) return Product::ffma;
  return flops_per_clock(Product::ffma, target) > flops_per_clock(Product::tf32x3, target) ? Product::ffma
                                                                                           : Product::tf32x3;
}

double flops_per_clock(Product product, const Target& target) {
  const double tensor =
      target.tensor_tflops * 1e3 * target.mma_fraction / (target.clock_ghz * target.num_sms);
  switch (product) {
    case Product::tf32x3:
      return tensor * kTf32Share;
    case Product::ffma:
      return 2 * target.fp32_per_clock_per_sm * kFfmaShare;
    case Product::mma:
      break;
  }
  return tensor;
}

std::string describe_product(DType dtype, const Target& target) {
  const Product product = product_of(dtype, target);
  const auto reach = [&](Product which) { return tera(flops_per_clock(which, target), target); };
  if (product == Product::mma)
    return fmt::format("tensor cores: {} times {}, summed in f32", dtype_name(dtype), dtype_name(dtype));
  if (product == Product::tf32x3) {
    return fmt::format(
        "3xTF32: f32 split in two tf32, three products on tensor cores, error at most 2^-21 of each product; "
        "up to "
        "{:.0f} TFLOP/s, FFMA half of {:.0f}",
        reach(product), 2 * reach(Product::ffma));
  }
  const std::string other = target.has_tf32
                                ? fmt::format("3xTF32 up to {:.0f} TFLOP/s", reach(Product::tf32x3))
                                : std::string("its tensor cores have no tf32");
  return fmt::format("FFMA: each product and sum rounded once, error 2^-24; half of {:.0f} TFLOP/s; {}",
                     2 * reach(product), other);
}

}  // namespace fa
