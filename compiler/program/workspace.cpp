#include "compiler/program/workspace.h"

#include <type_traits>

namespace fa {
namespace {

constexpr std::size_t kAlignment = 16;  // of each part

/// Calls `place(offset, field)` for each part, where `field` is the launch argument that points at it.
/// Returns the size of all. What another kind of pass leaves for later ones is one more `part` here.
template <class Place>
std::size_t lay_out(const Program& program, const CallParams& call, Place place) {
  std::size_t end = 0;
  const auto part = [&](std::size_t bytes, auto field) {
    const std::size_t offset = (end + kAlignment - 1) / kAlignment * kAlignment;
    place(offset, field);
    end = offset + bytes;
  };
  for (const Pass& pass : program) {
    if (!pass.tile_map) continue;
    const auto words = static_cast<std::size_t>(map_size(*pass.tile_map, call, pass.tile_q, pass.tile_kv));
    part(words * sizeof(int), &ForwardParams::tile_map);
  }
  return end;
}

}  // namespace

std::size_t workspace_bytes(const Program& program, const CallParams& call) {
  return lay_out(program, call, [](std::size_t, auto) {});
}

void place_workspace(const Program& program, void* workspace, ForwardParams& params) {
  lay_out(program, params.call, [&](std::size_t offset, auto field) {
    auto& pointer = params.*field;
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(
        static_cast<std::byte*>(workspace) + offset);
  });
}

}  // namespace fa
