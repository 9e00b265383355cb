#include "runtime/bundle/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "compiler/program/grid.h"
#include "compiler/spec/spec.h"

namespace fa {
namespace {

using nlohmann::json;

json print_shape(const TileMapShape& shape) {
  const auto& [of_batch, of_head, has_plain] = shape;
  return {{"of_batch", of_batch}, {"of_head", of_head}, {"has_plain", has_plain}};
}

TileMapShape parse_shape(Fields fields) {
  const TileMapShape shape = {.of_batch = fields.flag("of_batch"),
                              .of_head = fields.flag("of_head"),
                              .has_plain = fields.flag("has_plain")};
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

Grid parse_grid(Fields& fields) {
  const std::string name = fields.text("grid");
  const std::optional<Grid> grid = grid_named(name);
  const bool is_of_forward = grid == Grid::q_tiles || grid == Grid::tile_map;
  if (!is_of_forward) fields.fail("grid", "is no rule of this program's, such as q_tiles");
  return *grid;
}

Pass parse_pass(Fields& fields) {
  constexpr int kMostBytes = 1 << 20;
  Pass pass;
  pass.entry = parse_entry(fields);
  pass.grid = parse_grid(fields);
  pass.tile_q = fields.count("tile_q", 1, kMaxLength);
  pass.tile_kv = fields.count("tile_kv", 1, kMaxLength);
  pass.threads = fields.count("threads", 1, 1024);
  pass.shared_memory = fields.count("shared_memory", 0, kMostBytes);
  pass.overlaps = fields.flag("overlaps");
  if (const auto shape = fields.inner_or_null("tile_map")) pass.tile_map = parse_shape(*shape);
  fields.end();
  return pass;
}

}  // namespace

json print_passes(const Program& program) {
  json passes = json::array();
  for (const Pass& pass : program) {
    // Names every field: one that is added does not compile until bundles carry it.
    const auto& [entry, grid, tile_q, tile_kv, threads, shared_memory, overlaps, tile_map] = pass;
    passes.push_back({{"entry", entry},
                      {"grid", grid_name(grid)},
                      {"tile_q", tile_q},
                      {"tile_kv", tile_kv},
                      {"threads", threads},
                      {"shared_memory", shared_memory},
                      {"overlaps", overlaps},
                      {"tile_map", tile_map ? print_shape(*tile_map) : json()}});
  }
  return passes;
}

Program parse_passes(Fields& kernel) {
  std::vector<Fields> passes = kernel.objects("passes");
  if (passes.empty() || passes.size() > kMostPasses)
    kernel.fail("passes", fmt::format("has {} entries, it must have 1 to {}", passes.size(), kMostPasses));
  Program program;
  bool has_map = false;
  for (Fields& fields : passes) {
    const Pass pass = parse_pass(fields);
    if (pass.overlaps && program.empty()) fields.fail("overlaps", "is true, and no pass comes before");
    if (pass.tile_map.has_value() != (pass.grid == Grid::tile_map))
      fields.fail("tile_map", "is not what the pass's grid asks for");
    if (pass.tile_map && has_map) fields.fail("tile_map", "is the second of this kernel");
    has_map |= pass.tile_map.has_value();
    program.push_back(pass);
  }
  return program;
}

}  // namespace fa
