// Which unit of a target computes a spec's products Q K^T and P V.
#pragma once

#include <string>
#include <string_view>

#include "compiler/spec/spec.h"
#include "compiler/target/target.h"

namespace fa {

/// mma: tensor cores on 16-bit elements. For f32 tensor cores on three products of tf32 halves, or FFMA.
enum class Product : std::uint8_t { mma, tf32x3, ffma };

/// The faster of those that `target` has for `dtype`. Not for the host.
Product product_of(DType dtype, const Target& target);

/// Dense flops (an FMA is two) of the spec's arithmetic that an SM does in a clock at most.
double flops_per_clock(Product product, const Target& target);

/// One line for `explain`: what multiplies, how exactly, and why not the other.
std::string describe_product(DType dtype, const Target& target);

}  // namespace fa
