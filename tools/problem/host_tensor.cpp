// Element access by dtype, shapes as text, checksums.
#include "tools/problem/host_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "tools/reference/half.h"

namespace fa::tools {

namespace {

template <class T>
T load(const std::byte* bytes, std::int64_t i) {
  T value;
  std::memcpy(&value, bytes + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* bytes, std::int64_t i, T value) {
  std::memcpy(bytes + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

double saturate(double value, double low, double high) {
  return std::isnan(value) ? 0 : std::clamp(std::trunc(value), low, high);
}

}  // namespace

HostTensor::HostTensor(std::string tensor_name, DType type, std::vector<std::int64_t> extents)
    : name(std::move(tensor_name)), dtype(type), shape(std::move(extents)) {
  std::int64_t size = 0;
  if (__builtin_mul_overflow(elements(), std::int64_t{dtype_bytes(dtype)}, &size))
    throw std::bad_array_new_length();
  bytes.resize(static_cast<std::size_t>(size));
}

std::int64_t HostTensor::elements() const {
  if (std::ranges::count(shape, 0) > 0) return 0;
  std::int64_t count = 1;
  for (const auto extent : shape)
    if (__builtin_mul_overflow(count, extent, &count)) throw std::bad_array_new_length();
  return count;
}

double HostTensor::get(std::int64_t i) const {
  switch (dtype) {
    case DType::f16:
      return f16_to_float(load<std::uint16_t>(bytes.data(), i));
    case DType::bf16:
      return bf16_to_float(load<std::uint16_t>(bytes.data(), i));
    case DType::f32:
      return load<float>(bytes.data(), i);
    case DType::i32:
      return load<std::int32_t>(bytes.data(), i);
    case DType::i8:
      return load<std::int8_t>(bytes.data(), i);
    case DType::u8:
      return load<std::uint8_t>(bytes.data(), i);
    case DType::i64:
      return static_cast<std::int32_t>(load<std::int64_t>(bytes.data(), i));
    case DType::boolean:
      return load<std::uint8_t>(bytes.data(), i) != 0 ? 1 : 0;
  }
  return 0;
}

void HostTensor::set(std::int64_t i, double value) {
  std::byte* const out = bytes.data();
  switch (dtype) {
    case DType::f16:
      return store(out, i, float_to_f16(static_cast<float>(value)));
    case DType::bf16:
      return store(out, i, float_to_bf16(static_cast<float>(value)));
    case DType::f32:
      return store(out, i, static_cast<float>(value));
    case DType::i32:
      return store(out, i, static_cast<std::int32_t>(saturate(value, -0x1p31, 0x1p31 - 1)));
    case DType::i8:
      return store(out, i, static_cast<std::int8_t>(saturate(value, -128, 127)));
    case DType::u8:
      return store(out, i, static_cast<std::uint8_t>(saturate(value, 0, 255)));
    case DType::i64:
      return store(out, i, static_cast<std::int64_t>(saturate(value, -0x1p63, 0x1.fffffffffffffp62)));
    case DType::boolean:
      return store<std::uint8_t>(out, i, value != 0 ? 1 : 0);
  }
}

void HostTensor::widen(std::int64_t begin, std::int64_t count, float* out) const {
  const std::byte* const from = bytes.data() + begin * dtype_bytes(dtype);
  switch (dtype) {
    case DType::f16:
      for (std::int64_t i = 0; i < count; ++i) out[i] = f16_to_float(load<std::uint16_t>(from, i));
      return;
    case DType::bf16:
      for (std::int64_t i = 0; i < count; ++i) out[i] = bf16_to_float(load<std::uint16_t>(from, i));
      return;
    case DType::f32:
      std::memcpy(out, from, static_cast<std::size_t>(count) * sizeof(float));
      return;
    default:
      throw InternalError(fmt::format("tensor '{}' is {}, not a float", name, dtype_name(dtype)));
  }
}

std::string print_shape(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::uint64_t checksum(const HostTensor& tensor) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::byte byte : tensor.bytes) {
    hash ^= std::to_integer<std::uint64_t>(byte);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace fa::tools
