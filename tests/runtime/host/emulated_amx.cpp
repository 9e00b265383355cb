#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/jit.h"
#include "compiler/ir/llvm/reading.h"
// after llvm.h
#include "tests/runtime/host/emulated.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "fa/error.h"
#include "tests/compile_object.h"
#include "tests/runtime/host/problem.h"
#include "tests/skip.h"

namespace fa::test {
namespace {

struct Tile {
  std::array<std::array<std::uint32_t, 16>, 16> words;  // 16 rows of 64 bytes
};
thread_local std::array<Tile, 8> tiles;

Tile& tile(std::int8_t number) { return tiles[static_cast<std::size_t>(number)]; }

// All kernels use one configuration: 16 rows of 64 bytes.
void load_config(const void*) {}
void release() {
  for (Tile& each : tiles)
    for (auto& row : each.words)
      row.fill(0x7fc00001);  // NaNs, so that a kernel that reads old contents fails
}

void zero(std::int8_t to) {
  for (auto& row : tile(to).words) row.fill(0);
}

void load(std::int8_t to, const char* from, std::int64_t stride) {
  for (auto& row : tile(to).words) {
    std::memcpy(row.data(), from, 64);
    from += stride;
  }
}

void store(std::int8_t of, char* to, std::int64_t stride) {
  for (const auto& row : tile(of).words) {
    std::memcpy(to, row.data(), 64);
    to += stride;
  }
}

/// The bf16 of a word's half as the instruction reads it: subnormal numbers are 0 of their sign.
float operand(std::uint32_t word, bool high) {
  const std::uint32_t bits = high ? word & 0xffff0000u : word << 16;
  return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

// Tests multiply millions of tiles, under sanitizers too, so each number is converted once and plain arrays hold them.
void multiply(std::int8_t to, std::int8_t a, std::int8_t b) {
  float left[16][32], right[16][32];  // of row m; of column n
  const Tile& a_tile = tile(a);
  const Tile& b_tile = tile(b);
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t word = 0; word < 16; ++word) {
      const std::uint32_t of_row = a_tile.words[row][word], of_column = b_tile.words[word][row];
      left[row][2 * word] = operand(of_row, false), left[row][2 * word + 1] = operand(of_row, true);
      right[row][2 * word] = operand(of_column, false), right[row][2 * word + 1] = operand(of_column, true);
    }
  Tile& sums = tile(to);
  for (std::size_t m = 0; m < 16; ++m)
    for (std::size_t n = 0; n < 16; ++n) {
      float sum = std::bit_cast<float>(sums.words[m][n]);
      const float *x = left[m], *y = right[n];
      for (std::size_t k = 0; k < 32; ++k) sum = std::fma(x[k], y[k], sum);
      sums.words[m][n] = std::bit_cast<std::uint32_t>(sum);
    }
}

template <class Function>
void replace_calls(std::string& text, const std::string& intrinsic, Function* function) {
  const std::string call = "call void @llvm.x86." + intrinsic + "(";
  const std::string instead =
      fmt::format("call void inttoptr (i64 {} to ptr)(", reinterpret_cast<std::uintptr_t>(function));
  for (std::size_t at = 0; (at = text.find(call, at)) != std::string::npos; at += instead.size())
    text.replace(at, call.size(), instead);
}

std::string without_tiles(std::string text) {
  replace_calls(text, "ldtilecfg", &load_config);
  replace_calls(text, "tilerelease", &release);
  replace_calls(text, "tilezero", &zero);
  replace_calls(text, "tileloadd64", &load);
  replace_calls(text, "tilestored64", &store);
  replace_calls(text, "tdpbf16ps", &multiply);
  if (text.find("call void @llvm.x86.t") != std::string::npos)
    throw InternalError("a tile instruction that is not emulated");
  return text;
}

}  // namespace

std::string object_of(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  if (!module) throw InternalError("emulated instructions: " + problem.getMessage().str());
  return compile_object(*module);
}

std::string object_with_emulated_amx(const EmitFor& emit) {
  HostCpu cpu = host_cpu();
  cpu.amx = true;
  if (cpu.lanes < 16)
    cpu.lanes = 16, cpu.registers = 32;  // LLVM splits vectors that are too wide for this CPU
  return object_of(without_tiles(emit(cpu).print()));
}

std::vector<EmulatedWay> emulated_ways() {
  std::vector<EmulatedWay> all = {{"pairs, emulated", object_with_emulated_pairs}};
  if (host_cpu().triple.starts_with("x86_64"))
    all.push_back({"tiles, emulated", object_with_emulated_amx});
  else
    tests::skip("emulated AMX: this is no x86-64 machine");
  return all;
}

}  // namespace fa::test
