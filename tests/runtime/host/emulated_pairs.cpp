#include <algorithm>
#include <string>

#include "fa/error.h"
#include "tests/runtime/host/emulated.h"
#include "tests/runtime/host/problem.h"

namespace fa::test {
namespace {

const std::string kIntrinsic = "@llvm.x86.avx512bf16.dpbf16ps.512(";

// What the manual says of vdpbf16ps: the odd numbers' product is added first, each with one rounding to nearest;
// whatever is subnormal, before or after, counts as 0 of its sign.
const char* const kEmulation = R"(
define internal <16 x float> @without_subnormals(<16 x float> %x) {
  %bits = bitcast <16 x float> %x to <16 x i32>
  %exponent = and <16 x i32> %bits, splat (i32 u0x7f800000)
  %small = icmp eq <16 x i32> %exponent, zeroinitializer
  %sign = and <16 x i32> %bits, splat (i32 u0x80000000)
  %kept = select <16 x i1> %small, <16 x i32> %sign, <16 x i32> %bits
  %result = bitcast <16 x i32> %kept to <16 x float>
  ret <16 x float> %result
}

define internal <16 x float> @add_product(<16 x float> %sum, <16 x i32> %a, <16 x i32> %b) {
  %a_float = bitcast <16 x i32> %a to <16 x float>
  %b_float = bitcast <16 x i32> %b to <16 x float>
  %a_normal = call <16 x float> @without_subnormals(<16 x float> %a_float)
  %b_normal = call <16 x float> @without_subnormals(<16 x float> %b_float)
  %exact = call <16 x float> @llvm.fma.v16f32(<16 x float> %a_normal, <16 x float> %b_normal, <16 x float> %sum)
  %result = call <16 x float> @without_subnormals(<16 x float> %exact)
  ret <16 x float> %result
}

define internal <16 x float> @dpbf16ps(<16 x float> %c, <32 x bfloat> %a, <32 x bfloat> %b) {
  %a_words = bitcast <32 x bfloat> %a to <16 x i32>
  %b_words = bitcast <32 x bfloat> %b to <16 x i32>
  %a_odd = and <16 x i32> %a_words, splat (i32 u0xffff0000)
  %b_odd = and <16 x i32> %b_words, splat (i32 u0xffff0000)
  %a_even = shl <16 x i32> %a_words, splat (i32 16)
  %b_even = shl <16 x i32> %b_words, splat (i32 16)
  %first = call <16 x float> @without_subnormals(<16 x float> %c)
  %second = call <16 x float> @add_product(<16 x float> %first, <16 x i32> %a_odd, <16 x i32> %b_odd)
  %third = call <16 x float> @add_product(<16 x float> %second, <16 x i32> %a_even, <16 x i32> %b_even)
  ret <16 x float> %third
}
)";
const char* const kFma = "declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)";

std::string without_pairs(const std::string& text) {
  std::string result;
  std::size_t calls = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    std::string line = text.substr(begin, end - begin);
    begin = end;
    const std::size_t at = line.find(kIntrinsic);
    if (at != std::string::npos) {
      if (line.starts_with("declare")) continue;
      line.replace(at, kIntrinsic.size(), "@dpbf16ps(");
      ++calls;
    }
    result += line;
  }
  if (calls == 0) throw InternalError("a kernel for AVX512_BF16 without a product of pairs");
  if (result.find(kFma) == std::string::npos) result += std::string(kFma) + "\n";
  return result + kEmulation;
}

}  // namespace

std::string object_with_emulated_pairs(const EmitFor& emit) {
  HostCpu cpu = host_cpu();
  cpu.bf16_pairs = true, cpu.amx = false;
  if (cpu.lanes < 16)
    cpu.lanes = 16, cpu.registers = 32;  // LLVM splits vectors that are too wide for this CPU
  return object_of(without_pairs(emit(cpu).print()));
}

}  // namespace fa::test
