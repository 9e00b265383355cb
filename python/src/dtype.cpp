#include "python/src/dtype.h"

#include <string>

#include "fa/error.h"

namespace fa::python {
namespace {

constexpr DType kAll[] = {DType::f16, DType::bf16, DType::f32,     DType::i32,
                          DType::i64, DType::i8,   DType::boolean, DType::u8};

using Code = nanobind::dlpack::dtype_code;

/// The code and bits of a type in DLPack.
std::pair<Code, int> in_dlpack(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {Code::Float, 16};
    case DType::bf16:
      return {Code::Bfloat, 16};
    case DType::f32:
      return {Code::Float, 32};
    case DType::i32:
      return {Code::Int, 32};
    case DType::i64:
      return {Code::Int, 64};
    case DType::i8:
      return {Code::Int, 8};
    case DType::u8:
      return {Code::UInt, 8};
    case DType::boolean:
      return {Code::Bool, 8};
  }
  throw InternalError("a dtype that dtype.cpp does not know");
}

}  // namespace

DType dtype_named(std::string_view name) {
  std::string names;
  for (const DType dtype : kAll) {
    if (dtype_name(dtype) == name) return dtype;
    names += (names.empty() ? "" : ", ") + std::string(dtype_name(dtype));
  }
  throw ArgumentError("there is no dtype '" + std::string(name) + "'; there are " + names);
}

DType dtype_of(nanobind::dlpack::dtype wanted) {
  for (const DType dtype : kAll) {
    const auto [code, bits] = in_dlpack(dtype);
    if (wanted.lanes == 1 && wanted.code == static_cast<std::uint8_t>(code) && wanted.bits == bits)
      return dtype;
  }
  throw ArgumentError("an array of DLPack's type " + std::to_string(wanted.code) + " with " +
                      std::to_string(wanted.bits) +
                      " bits: convert it to a type that Facet has (f32, bf16, i32, ...)");
}

}  // namespace fa::python
