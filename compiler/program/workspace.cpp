#include "compiler/program/workspace.h"

#include <cstdint>

namespace fa {
namespace {

constexpr std::size_t kAlignment = 16;  // of each part

enum class Part : std::uint8_t { tile_map, row_stats, d_q_sums };

/// Calls `place(number, what, offset)` for what each pass leaves. Returns the size of all. What another kind of
/// pass leaves for later ones is one more `part` here.
template <class Place>
std::size_t lay_out(const Program& program, const CallParams& call, Place place) {
  std::size_t end = 0;
  for (std::size_t number = 0; number < program.size(); ++number) {
    const Pass& pass = program[number];
    const auto part = [&](Part what, std::size_t bytes) {
      const std::size_t offset = (end + kAlignment - 1) / kAlignment * kAlignment;
      place(number, what, offset);
      end = offset + bytes;
    };
    if (pass.tile_map)
      part(Part::tile_map,
           static_cast<std::size_t>(map_size(*pass.tile_map, call, pass.tile_q, pass.tile_kv)) * sizeof(int));
    if (pass.grid == Grid::d_q_sums)  // which the passes before it fill
      part(Part::d_q_sums, static_cast<std::size_t>(d_q_sums_floats(call, pass.tile_kv)) * sizeof(float));
    if (pass.grid == Grid::row_stats)
      part(Part::row_stats, static_cast<std::size_t>(row_stats_floats(call)) * sizeof(float));
  }
  return end;
}

template <class T>
void set(T*& pointer, void* workspace, std::size_t offset) {
  pointer = reinterpret_cast<T*>(static_cast<std::byte*>(workspace) + offset);
}

}  // namespace

std::size_t workspace_bytes(const Program& program, const CallParams& call) {
  return lay_out(program, call, [](std::size_t, Part, std::size_t) {});
}

void place_workspace(const Program& program, void* workspace, ForwardParams& params) {
  lay_out(program, params.call, [&](std::size_t, Part part, std::size_t offset) {
    if (part == Part::tile_map) set(params.tile_map, workspace, offset);
  });
}

void place_workspace(const Program& program, void* workspace, std::size_t number, BackwardParams& params) {
  lay_out(program, params.forward.call, [&](std::size_t of, Part part, std::size_t offset) {
    if (part == Part::row_stats) set(params.row_stats, workspace, offset);
    if (part == Part::d_q_sums) set(params.d_q_sums, workspace, offset);
    if (part == Part::tile_map && of <= number) set(params.forward.tile_map, workspace, offset);
  });
}

}  // namespace fa
