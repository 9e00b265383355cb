#include "compiler/program/workspace.h"

#include <cstdint>

#include "compiler/spec/rounding.h"

namespace fa {
namespace {

constexpr std::size_t kAlignment = 16;  // of each part

enum class Part : std::uint8_t {
  tile_map,
  scores,
  maxima,
  sums,
  row_state,
  row_stats,
  head_counts,
  d_q_sums,
  exact_sums
};

/// A part of the workspace: what the pass `number` leaves, or finds there. `gradient`: whose exact sums.
struct WorkspacePart {
  std::size_t number;
  Part part;
  std::size_t offset;
  std::size_t gradient = 0;
};

/// Bytes of the gradient's sums in a call.
std::size_t exact_bytes(const ExactGradient& gradient, const BackwardParams& params) {
  if (gradient.is_once && has_one_writer(params.forward.call, gradient.of_batch, gradient.of_head)) return 0;
  return static_cast<std::size_t>(params.elements[gradient.number]) * sizeof(ExactSum);
}

/// The most bytes that a call may say it needs; more than any device has, and sums of a few stay numbers.
constexpr std::size_t kMostBytes = std::size_t{1} << 60;

/// a * b bytes, at most kMostBytes: scores are rows times keys, and both may be many.
std::size_t bytes_of(std::size_t a, std::size_t b) {
  return a != 0 && b > kMostBytes / a ? kMostBytes : a * b;
}

/// Calls `to_place(WorkspacePart)` for what each pass leaves. Returns the size of all. What another kind of
/// pass leaves for later ones is one more `part` here. `backward`: null for programs of a forward pass.
template <class ToPlace>
std::size_t lay_out(const Program& program, const CallParams& call, const BackwardParams* backward,
                    ToPlace to_place) {
  std::size_t end = 0;
  for (std::size_t number = 0; number < program.size(); ++number) {
    const Pass& pass = program[number];
    const auto part = [&](Part what, std::size_t bytes, std::size_t gradient = 0) {
      const std::size_t offset = round_up(end, kAlignment);
      to_place(WorkspacePart{number, what, offset, gradient});
      end = offset + bytes;
    };
    if (pass.tile_map)
      part(Part::tile_map,
           static_cast<std::size_t>(map_size(*pass.tile_map, call, pass.tile_q, pass.tile_kv)) * sizeof(int));
    if (pass.score_bytes != 0) {
      const auto rows = static_cast<std::size_t>(rows_of(call));
      const auto stride = static_cast<std::size_t>(score_stride(call.kv_len, pass.tile_kv));
      part(Part::scores, bytes_of(rows, stride * static_cast<std::size_t>(pass.score_bytes)));
      part(Part::maxima, bytes_of(rows, stride / static_cast<std::size_t>(pass.tile_kv) * sizeof(float)));
      part(Part::row_state, bytes_of(rows, 2 * sizeof(float)));
    }
    if (pass.sum_columns != 0) {
      const auto rows = static_cast<std::size_t>(rows_of(call));
      part(Part::sums, bytes_of(rows, static_cast<std::size_t>(pass.sum_columns) * sizeof(float)));
      part(Part::row_state, bytes_of(rows, 2 * sizeof(float)));
    }
    if (pass.grid == Grid::d_q_sums)  // which the passes before it fill
      part(Part::d_q_sums, static_cast<std::size_t>(d_q_sums_floats(call, pass.tile_kv)) * sizeof(float));
    if (pass.grid == Grid::row_stats) {
      part(Part::row_stats, static_cast<std::size_t>(row_stats_floats(call)) * sizeof(float));
      part(Part::head_counts, static_cast<std::size_t>(head_counts_size(call)) * sizeof(unsigned));
    }
    if (backward == nullptr) continue;
    for (const ExactGradient& gradient : pass.exact_gradients)  // which the passes before it fill
      if (const std::size_t bytes = exact_bytes(gradient, *backward); bytes != 0)
        part(Part::exact_sums, bytes, static_cast<std::size_t>(gradient.number));
  }
  return end;
}

template <class T>
void set(T*& pointer, void* workspace, std::size_t offset) {
  pointer = reinterpret_cast<T*>(static_cast<std::byte*>(workspace) + offset);
}

}  // namespace

std::size_t workspace_bytes(const Program& program, const CallParams& call) {
  return lay_out(program, call, nullptr, [](const WorkspacePart&) {});
}

std::size_t workspace_bytes(const Program& program, const BackwardParams& params) {
  return lay_out(program, params.forward.call, &params, [](const WorkspacePart&) {});
}

void place_workspace(const Program& program, void* workspace, ForwardParams& params) {
  lay_out(program, params.call, nullptr, [&](const WorkspacePart& place) {
    if (place.part == Part::tile_map) set(params.tile_map, workspace, place.offset);
  });
}

void place_workspace(const Program& program, void* workspace, BaselineParams& params) {
  lay_out(program, params.forward.call, nullptr, [&](const WorkspacePart& place) {
    if (place.part == Part::scores)
      params.scores = static_cast<std::byte*>(workspace) + place.offset;
    else if (place.part == Part::maxima)
      set(params.maxima, workspace, place.offset);
    else if (place.part == Part::sums)
      set(params.sums, workspace, place.offset);
    else if (place.part == Part::row_state)
      set(params.row_state, workspace, place.offset);
  });
}

void place_workspace(const Program& program, void* workspace, std::size_t number, BackwardParams& params) {
  lay_out(program, params.forward.call, &params, [&](const WorkspacePart& place) {
    switch (place.part) {
      case Part::row_stats:
        return set(params.row_stats, workspace, place.offset);
      case Part::head_counts:
        return set(params.head_counts, workspace, place.offset);
      case Part::d_q_sums:
        return set(params.d_q_sums, workspace, place.offset);
      case Part::exact_sums:
        return set(params.exact_sums[place.gradient], workspace, place.offset);
      case Part::scores:
      case Part::maxima:
      case Part::sums:
      case Part::row_state:
        return;  // no backward pass leaves them
      case Part::tile_map:
        if (place.number <= number) set(params.forward.tile_map, workspace, place.offset);
    }
  });
}

}  // namespace fa
