#include "compiler/program/pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/program/grid.h"

namespace fa {
namespace {

std::string print(const TileMapShape& shape) {
  const auto& [of_batch, of_head, has_plain, round_rows] = shape;
  return fmt::format(", fills a tile map: of_batch={:d} of_head={:d} has_plain={:d} round_rows={}", of_batch,
                     of_head, has_plain, round_rows);
}

std::string print(const std::vector<ExactGradient>& gradients) {
  std::string text;
  for (const auto& [number, is_once, of_batch, of_head] : gradients)
    text += fmt::format(", sums gradient {}: is_once={:d} of_batch={:d} of_head={:d}", number, is_once,
                        of_batch, of_head);
  return text;
}

}  // namespace

int most_shared_memory(const Program& program) {
  int most = 0;
  for (const Pass& pass : program) most = std::max(most, pass.shared_memory);
  return most;
}

bool is_baseline(const Program& program) {
  return std::ranges::any_of(program,
                             [](const Pass& pass) { return pass.score_bytes != 0 || pass.sum_columns != 0; });
}

std::string print(const Program& program) {
  std::string text;
  for (const Pass& pass : program) {
    // Names every field: one that is added does not compile until it is printed here.
    const auto& [entry, grid, tile_q, tile_kv, threads, shared_memory, overlaps, score_bytes, sum_columns,
                 tile_map, exact_gradients] = pass;
    text +=
        fmt::format("{}: grid={} tile_q={} tile_kv={} threads={} shared_memory={} overlaps={:d}{}{}{}{}\n",
                    entry, grid_name(grid), tile_q, tile_kv, threads, shared_memory, overlaps,
                    score_bytes == 0 ? "" : fmt::format(", leaves scores of {} bytes", score_bytes),
                    sum_columns == 0 ? "" : fmt::format(", leaves sums of {} columns", sum_columns),
                    tile_map ? print(*tile_map) : "", print(exact_gradients));
  }
  return text;
}

}  // namespace fa
