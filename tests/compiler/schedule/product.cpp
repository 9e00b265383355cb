#include "compiler/schedule/product.h"

#include <cmath>

#include "tests/catch.h"

using namespace fa;

TEST_CASE("16-bit elements are multiplied on tensor cores, f32 where it is faster", "[schedule]") {
  for (const Target& target : all_targets()) {
    if (target.is_host()) continue;
    CAPTURE(target.name);
    CHECK(product_of(DType::f16, target) == Product::mma);
    const bool by_ffma = target.name == "t4" || target.name == "rtx4090";
    CHECK(product_of(DType::f32, target) == (by_ffma ? Product::ffma : Product::tf32x3));
  }
  // A third of half the 16-bit rate; half of two flops for each of 128 lanes.
  const Target& a100 = find_target("a100");
  CHECK(std::abs(flops_per_clock(Product::mma, a100) / flops_per_clock(Product::tf32x3, a100) - 6) < 1e-9);
  CHECK(flops_per_clock(Product::ffma, find_target("rtx4090")) == 128);
}

TEST_CASE("explain says what multiplies, how exactly, and why not the other", "[schedule]") {
  CHECK(describe_product(DType::bf16, find_target("h200")) == "tensor cores: bf16 times bf16, summed in f32");
  CHECK(describe_product(DType::f32, find_target("a100")) ==
        "3xTF32: f32 split in two tf32, three products on tensor cores, error at most 2^-21 of each product; "
        "up to 52 "
        "TFLOP/s, FFMA half of 19");
  CHECK(describe_product(DType::f32, find_target("t4")) ==
        "FFMA: each product and sum rounded once, error 2^-24; half of 8 TFLOP/s; its tensor cores have no "
        "tf32");
  CHECK(describe_product(DType::f32, find_target("rtx4090")) ==
        "FFMA: each product and sum rounded once, error 2^-24; half of 83 TFLOP/s; 3xTF32 up to 27 TFLOP/s");
}
