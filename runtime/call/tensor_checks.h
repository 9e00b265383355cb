// Checks of one of a call's tensors; each throws ArgumentError naming it, and the remedy.
#pragma once

#include <array>
#include <string_view>

#include "compiler/spec/spec.h"
#include "fa/kernel.h"
#include "templates/params.h"

namespace fa {

constexpr std::array<std::string_view, 4> kDimensionNames = {"batch", "heads", "length", "dim"};

/// A tensor with its name.
struct Named {
  std::string_view name;
  const Tensor& tensor;
};

/// Its dtype, its extents' ranges, and `dim` as its innermost extent.
void check_shape(Named t, const CheckedSpec& spec, int dim, std::string_view dim_name);
/// `a` and `b` must have the same extent in dimension `d`.
void check_same(Named a, Named b, std::size_t d);
/// Address, alignment and strides.
void check_memory(Named t, Device device);
/// Whether no two elements share memory. Sorted by stride, each dimension must step over all the smaller
/// ones. This refuses some valid views, but only contrived ones.
bool is_injective(const Tensor& t);

TensorStrides strides_of(const Tensor& t);

}  // namespace fa
