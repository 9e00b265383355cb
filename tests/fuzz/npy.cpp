// The .npy reader: a file that it accepts is written and read back the same; one that it refuses is named in
// the message.
#include <cmath>
#include <sstream>

#include "tests/fuzz/targets.h"
#include "tools/problem/npy.h"

namespace fa::fuzz {
namespace {

using namespace tools;

constexpr std::int64_t kMostElements = 4096;

std::istringstream stream_of(std::string_view bytes) { return std::istringstream(std::string(bytes)); }

/// Equal bit for bit; but bf16 is written as f32, and on the way a signalling NaN becomes a quiet one.
bool is_same(const HostTensor& a, const HostTensor& b) {
  if (a.dtype != DType::bf16) return a.bytes == b.bytes;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.get(i), y = b.get(i);
    if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return a.elements() == b.elements();
}

/// Reads the data as a tensor of this dtype, where the file's own can be read so.
void read_as(std::string_view bytes, DType dtype, const std::vector<std::int64_t>& shape) {
  std::istringstream in = stream_of(bytes);
  const HostTensor tensor = read_npy(in, "fuzz", "t", dtype, shape);
  require(tensor.dtype == dtype && tensor.shape == shape, "another tensor than was asked for");
  for (const std::byte byte : tensor.bytes)
    require(dtype != DType::boolean || byte <= std::byte{1}, "a bool that is neither 0 nor 1");
  std::ostringstream out;
  write_npy(out, tensor);
  std::istringstream again = stream_of(out.str());
  require(is_same(tensor, read_npy(again, "again", "t", dtype, shape)), "a tensor changes when it is copied");
}

void check_refusal(const ArgumentError& error) {
  const std::string_view what = error.what();
  require(what.starts_with("fuzz: "), "a refusal that does not name the file: " + std::string(what));
}

}  // namespace

void fuzz_npy(std::string_view bytes) {
  NpyHeader header;
  try {
    std::istringstream in = stream_of(bytes);
    header = read_npy_header(in, "fuzz");
  } catch (const ArgumentError& error) {
    return check_refusal(error);
  }
  require(header.data_offset <= bytes.size(), "data beyond the end");
  std::int64_t elements = 1;
  for (const std::int64_t extent : header.shape) {
    require(extent >= 0, "a negative extent");
    elements = extent > kMostElements ? kMostElements + 1 : std::min(elements * extent, kMostElements + 1);
  }
  if (elements > kMostElements) return;
  for (const DType dtype :
       {DType::f16, DType::bf16, DType::f32, DType::i32, DType::i8, DType::u8, DType::i64, DType::boolean}) {
    try {
      read_as(bytes, dtype, header.shape);
    } catch (const ArgumentError& error) {
      check_refusal(error);
    }
  }
}

}  // namespace fa::fuzz
