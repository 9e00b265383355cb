// NumPy's array-protocol type strings: byte order, kind, bytes.
#include "tools/problem/npy_type.h"

#include <fmt/format.h>

#include <charconv>

namespace fa::tools {

std::optional<DType> file_dtype(std::string_view descr) {
  if (descr == "<f2") return DType::f16;
  if (descr == "<f4") return DType::f32;
  if (descr == "<i4") return DType::i32;
  if (descr == "|i1") return DType::i8;
  if (descr == "|u1") return DType::u8;
  if (descr == "<i8") return DType::i64;
  if (descr == "|b1") return DType::boolean;
  if (descr == "<V2" || descr == "|V2") return DType::bf16;
  return std::nullopt;
}

std::string_view file_descr(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "<f2";
    case DType::bf16:
    case DType::f32:
      return "<f4";
    case DType::i32:
      return "<i4";
    case DType::i8:
      return "|i1";
    case DType::u8:
      return "|u1";
    case DType::i64:
      return "<i8";
    case DType::boolean:
      return "|b1";
  }
  return "";
}

std::string_view numpy_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "np.float16";
    case DType::bf16:
    case DType::f32:
      return "np.float32";
    case DType::i32:
      return "np.int32";
    case DType::i8:
      return "np.int8";
    case DType::u8:
      return "np.uint8";
    case DType::i64:
      return "np.int64";
    case DType::boolean:
      return "np.bool_";
  }
  return "";
}

std::string describe_descr(std::string_view descr) {
  const auto named = [&](std::string_view name) { return fmt::format("{} ('{}')", name, descr); };
  if (descr == "|b1") return named("bool");
  if (file_dtype(descr) == DType::bf16) return named("two raw bytes");
  const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string_view order = has_order && descr[0] == '>' ? "big-endian " : "";
  const std::string_view type = descr.substr(has_order ? 1 : 0);
  int bytes = 0;
  const auto [end, error] =
      std::from_chars(type.data() + (type.empty() ? 0 : 1), type.data() + type.size(), bytes);
  const bool has_bytes = error == std::errc() && end == type.data() + type.size() && bytes > 0 && bytes <= 64;
  const auto number = [&](std::string_view kind) {
    return has_bytes ? named(fmt::format("{}{}{}", order, kind, 8 * bytes)) : named("something else");
  };
  switch (type.empty() ? ' ' : type[0]) {
    case 'f':
      return number("float");
    case 'i':
      return number("int");
    case 'u':
      return number("uint");
    case 'c':
      return number("complex");
    case 'U':
    case 'S':
      return named("text");
    case 'O':
      return named("Python objects");
    case 'M':
    case 'm':
      return named("times");
    case 'V':
      return named("raw bytes");
    default:
      return named("something else");
  }
}

}  // namespace fa::tools
