#include "runtime/call/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "compiler/spec/dtype.h"

namespace fa {
namespace {

/// Bytes of memory: blocks of `block` bytes that begin at multiples of `step` after the first; one block
/// where step is 0; empty where begin equals end.
struct Memory {
  std::string_view name;
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t block = 0, step = 0;
};

Memory memory_of(std::string_view name, const Tensor& t) {
  const auto begin = reinterpret_cast<std::uintptr_t>(t.data);
  if (std::ranges::find(t.shape, 0) != t.shape.end()) return {.name = name, .begin = begin, .end = begin};
  std::array<std::size_t, 4> order = {0, 1, 2, 3};
  std::ranges::sort(order, {}, [&](std::size_t d) { return t.strides[d]; });
  std::int64_t block = 1, step = 0, last = 0;
  for (const std::size_t d : order) {
    if (t.shape[d] == 1 || t.strides[d] == 0) continue;
    last += (t.shape[d] - 1) * t.strides[d];
    if (step == 0 && t.strides[d] == block)
      block *= t.shape[d];  // one after another: still a single block
    else
      step = std::gcd(step, t.strides[d]);
  }
  const auto bytes = static_cast<std::uint64_t>(dtype_bytes(t.dtype));
  return {.name = name,
          .begin = begin,
          .end = begin + (static_cast<std::uint64_t>(last) + 1) * bytes,
          .block = static_cast<std::uint64_t>(block) * bytes,
          .step = static_cast<std::uint64_t>(step) * bytes};
}

Memory memory_at(std::string_view name, const void* data, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {.name = name, .begin = begin, .end = data == nullptr ? begin : begin + bytes, .block = bytes};
}

Memory memory_of(const Captured& t) {
  std::int64_t elements = 1;
  for (int d = 0; d < t.rank; ++d) elements *= t.shape[static_cast<std::size_t>(d)];
  return memory_at(t.name, t.data, static_cast<std::uint64_t>(elements * dtype_bytes(t.dtype)));
}

bool overlap(const Memory& a, const Memory& b) {
  if (a.begin == a.end || b.begin == b.end || a.end <= b.begin || b.end <= a.begin) return false;
  const std::uint64_t step = std::gcd(a.step, b.step);
  if (step == 0) return true;
  // Blocks of one begin `after` bytes after those of the other, counted around a step.
  const std::uint64_t after = (b.begin % step + step - a.begin % step) % step;
  return after < a.block || step - after < b.block;
}

void check_outputs(std::span<const Memory> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t j = i + 1; j < outputs.size(); ++j)
      if (overlap(outputs[i], outputs[j]))
        throw ArgumentError(
            fmt::format("{} and {} share memory, and the call writes both: give each memory of its own",
                        outputs[i].name, outputs[j].name));
}

void check_input(const Memory& output, const Memory& input, std::string_view what = "") {
  if (overlap(output, input))
    throw ArgumentError(
        fmt::format("{0} and {1}{2} share memory, and the call writes {0} while it reads the other: give "
                    "{0} memory of its own",
                    output.name, what, input.name));
}

}  // namespace

void check_apart(const ForwardArgs& args) {
  const auto& shape = args.o.shape;
  const auto rows = static_cast<std::uint64_t>(shape[0] * shape[1] * shape[2]);
  const std::array outputs = {memory_of("o", args.o), memory_at("lse", args.lse, rows * sizeof(float)),
                              memory_at("workspace", args.workspace, args.workspace_bytes)};
  check_outputs(outputs);
  for (const Memory& output : outputs) {
    if (output.begin == output.end) continue;
    check_input(output, memory_of("q", args.q));
    check_input(output, memory_of("k", args.k));
    check_input(output, memory_of("v", args.v));
    for (const Captured& tensor : args.tensors) check_input(output, memory_of(tensor), "tensor ");
  }
}

void check_apart(const BackwardArgs& args, std::span<const std::int64_t> gradient_elements) {
  const ForwardArgs& forward = args.forward;
  const auto& shape = forward.o.shape;
  const auto row_bytes = static_cast<std::uint64_t>(shape[0] * shape[1] * shape[2]) * sizeof(float);
  std::vector<Memory> outputs = {memory_of("d_q", args.d_q), memory_of("d_k", args.d_k),
                                 memory_of("d_v", args.d_v),
                                 memory_at("workspace", args.workspace, args.workspace_bytes)};
  for (std::size_t i = 0; i < args.gradients.size(); ++i)
    outputs.push_back(memory_at(args.gradients[i].name, args.gradients[i].data,
                                static_cast<std::uint64_t>(gradient_elements[i]) * sizeof(float)));
  check_outputs(outputs);
  for (const Memory& output : outputs) {
    if (output.begin == output.end) continue;
    for (const Memory& input :
         {memory_of("q", forward.q), memory_of("k", forward.k), memory_of("v", forward.v),
          memory_of("o", forward.o), memory_of("d_o", args.d_o), memory_at("lse", forward.lse, row_bytes),
          memory_at("d_lse", args.d_lse, row_bytes)})
      check_input(output, input);
    for (const Captured& tensor : forward.tensors) check_input(output, memory_of(tensor), "tensor ");
  }
}

}  // namespace fa
