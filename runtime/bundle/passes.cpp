#include "runtime/bundle/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "compiler/program/grid.h"
#include "compiler/spec/spec.h"
#include "fa/error.h"
#include "templates/backward_params.h"

namespace fa {
namespace {

using nlohmann::json;

json print_shape(const TileMapShape& shape) {
  const auto& [of_batch, of_head, has_plain, round_rows] = shape;
  return {{"of_batch", of_batch}, {"of_head", of_head}, {"has_plain", has_plain}, {"round_rows", round_rows}};
}

TileMapShape parse_shape(Fields fields) {
  const TileMapShape shape = {.of_batch = fields.flag("of_batch"),
                              .of_head = fields.flag("of_head"),
                              .has_plain = fields.flag("has_plain"),
                              .round_rows = fields.count("round_rows", 1, kMostRoundRows)};
  if (shape.round_rows != 1 && shape.round_rows != kMostRoundRows)
    fields.fail("round_rows", fmt::format("is neither 1 nor {}", kMostRoundRows));
  fields.end();
  return shape;
}

/// The driver looks a function up by this.
std::string parse_entry(Fields& fields) {
  constexpr std::size_t kLongestName = 256;
  const std::string entry = fields.text("entry");
  const bool is_name = std::ranges::all_of(
      entry, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  if (entry.empty() || entry.size() > kLongestName || !is_name)
    fields.fail("entry", "is no function's name, such as facet_forward");
  return entry;
}

json print_gradients(const std::vector<ExactGradient>& gradients) {
  json list = json::array();
  for (const auto& [number, is_once, of_batch, of_head] : gradients)
    list.push_back(
        {{"gradient", number}, {"is_once", is_once}, {"of_batch", of_batch}, {"of_head", of_head}});
  return list;
}

std::vector<ExactGradient> parse_gradients(Fields& pass) {
  std::vector<ExactGradient> gradients;
  int least = 0;  // in order, and none twice
  for (Fields& fields : pass.objects("exact_gradients")) {
    gradients.push_back({.number = fields.count("gradient", least, kMaxGradients - 1),
                         .is_once = fields.flag("is_once"),
                         .of_batch = fields.flag("of_batch"),
                         .of_head = fields.flag("of_head")});
    least = gradients.back().number + 1;
    fields.end();
  }
  return gradients;
}

Grid parse_grid(Fields& fields, Direction direction) {
  const std::string name = fields.text("grid");
  const std::optional<Grid> grid = grid_named(name);
  if (!grid || is_of_baseline(*grid) || (direction == Direction::forward && is_of_backward(*grid)))
    fields.fail("grid", "is no rule of this program's, such as q_tiles");
  return *grid;
}

Pass parse_pass(Fields& fields, Direction direction) {
  constexpr int kMostBytes = 1 << 20;
  Pass pass;
  pass.entry = parse_entry(fields);
  pass.grid = parse_grid(fields, direction);
  pass.tile_q = fields.count("tile_q", 1, kMaxLength);
  pass.tile_kv = fields.count("tile_kv", 1, kMaxLength);
  pass.threads = fields.count("threads", 1, 1024);
  pass.shared_memory = fields.count("shared_memory", 0, kMostBytes);
  pass.overlaps = fields.flag("overlaps");
  if (const auto shape = fields.inner_or_null("tile_map")) pass.tile_map = parse_shape(*shape);
  pass.exact_gradients = parse_gradients(fields);
  fields.end();
  return pass;
}

/// Whether a pass of this grid stands alone in its program: what it leaves in the workspace, or makes of that, is there once.
bool is_alone(Grid grid, Direction direction) {
  if (direction == Direction::forward) return grid == Grid::tile_map;
  return grid == Grid::row_stats || grid == Grid::d_q_sums || grid == Grid::exact_sums;
}

}  // namespace

json print_passes(const Program& program) {
  json passes = json::array();
  for (const Pass& pass : program) {
    // Names every field: one that is added does not compile until bundles carry it.
    const auto& [entry, grid, tile_q, tile_kv, threads, shared_memory, overlaps, score_bytes, sum_columns,
                 tile_map, exact_gradients] = pass;
    if (score_bytes != 0 || sum_columns != 0) throw InternalError("bundles hold no baselines");
    passes.push_back({{"entry", entry},
                      {"grid", grid_name(grid)},
                      {"tile_q", tile_q},
                      {"tile_kv", tile_kv},
                      {"threads", threads},
                      {"shared_memory", shared_memory},
                      {"overlaps", overlaps},
                      {"tile_map", tile_map ? print_shape(*tile_map) : json()},
                      {"exact_gradients", print_gradients(exact_gradients)}});
  }
  return passes;
}

Program parse_passes(Fields& kernel, Direction direction) {
  std::vector<Fields> passes = kernel.objects("passes");
  if (passes.empty() || passes.size() > kMostPasses)
    kernel.fail("passes", fmt::format("has {} entries, it must have 1 to {}", passes.size(), kMostPasses));
  Program program;
  for (Fields& fields : passes) {
    const Pass pass = parse_pass(fields, direction);
    if (pass.tile_map.has_value() != (pass.grid == Grid::tile_map))
      fields.fail("tile_map", "is not what the pass's grid asks for");
    if (pass.exact_gradients.empty() == (pass.grid == Grid::exact_sums))
      fields.fail("exact_gradients", "are not what the pass's grid asks for");
    if (is_alone(pass.grid, direction) &&
        std::ranges::any_of(program, [&](const Pass& other) { return other.grid == pass.grid; }))
      fields.fail(pass.tile_map ? "tile_map" : "grid", "is the second of this kernel");
    program.push_back(pass);
  }
  return program;
}

}  // namespace fa
