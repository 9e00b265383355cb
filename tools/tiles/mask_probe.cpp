#include "tools/tiles/mask_probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/analysis/facts.h"
#include "compiler/spec/rounding.h"
#include "templates/common/tiles/tile_parts.h"

namespace fa::tools {

namespace {

static_assert(TileMap::kRowsAlike == kRowsAlike && TileMap::kColumnsAlike == kColumnsAlike);

constexpr std::size_t kTileArguments = 6;  // b, h, q_lo, q_hi, kv_lo, kv_hi

}  // namespace

std::vector<Slot> uniform_slots(const Problem& problem) {
  const ProblemSize& size = problem.size;
  std::vector<Slot> slots = {Slot::of(size.batch),
                             Slot::of(size.num_q_heads),
                             Slot::of(size.num_kv_heads),
                             Slot::of(size.num_q_heads / size.num_kv_heads),
                             Slot::of(size.q_len),
                             Slot::of(size.kv_len),
                             Slot::of(static_cast<float>(problem.spec.checked().scale))};
  for (const Scalar& param : problem.params)
    slots.push_back(std::visit([](auto value) { return Slot::of(value); }, param));
  for (const HostTensor& tensor : problem.tensors)
    slots.push_back(Slot::of(static_cast<const void*>(tensor.bytes.data())));
  return slots;
}

TileBounds TileGrid::bounds(int row, int column) const {
  return {.q_lo = row * tile_q,
          .q_hi = std::min((row + 1) * tile_q, q_len) - 1,
          .kv_lo = column * tile_kv,
          .kv_hi = std::min((column + 1) * tile_kv, kv_len) - 1};
}

MaskCode::MaskCode(const CheckedSpec& spec) {
  const HookIr hooks = lower(spec);
  has_mask = hooks.mask_mod != nullptr;
  if (!has_mask) return;
  const Facts facts = analyse(spec, hooks);
  depends_on_b = facts.mask_mod.has(DependsOn::b);
  depends_on_h = facts.mask_mod.has(DependsOn::h);
  classes = derive_tile_classes(hooks);
  jit_ = std::make_unique<HookJit>(merge_modules({hooks.module, classes.module}));
  mask = jit_->find("mask_mod");
  if (classes.function == nullptr) return;
  tile_class = jit_->find("tile_class");
  for (std::size_t j = 0; j < classes.summaries.size(); ++j)
    summaries.push_back(jit_->find(fmt::format("summary.{}", j)));
}

MaskProbe::MaskProbe(std::shared_ptr<const MaskCode> code, const Problem& problem)
    : size_(problem.size), code_(std::move(code)), uniforms_(uniform_slots(problem)) {}

bool MaskProbe::keeps(int b, int h, int q_idx, int kv_idx) const {
  if (!code_->has_mask) return true;
  std::vector<Slot> slots = {Slot::of(0.0f), Slot::of(b), Slot::of(h), Slot::of(q_idx), Slot::of(kv_idx)};
  slots.insert(slots.end(), uniforms_.begin(), uniforms_.end());
  Slot result;
  code_->mask(slots.data(), &result);
  return result.i32() != 0;
}

/// Floats are ordered by their bits, with NaNs before and after all numbers.
MaskProbe::Extrema MaskProbe::extrema(std::size_t summary, int b, int h, int first, int last) const {
  std::vector<Slot> slots = {Slot::of(b), Slot::of(h), Slot::of(0)};
  slots.insert(slots.end(), uniforms_.begin(), uniforms_.end());
  const auto order = [&](const Slot& value) {
    const std::int32_t bits = value.i32();
    return classes().summaries[summary].is_float && bits < 0 ? bits ^ 0x7fffffff : bits;
  };
  Extrema result;
  for (int i = first; i <= last; ++i) {
    slots[2] = Slot::of(i);
    Slot value;
    code_->summaries[summary](slots.data(), &value);
    if (i == first || order(value) < order(result.low)) result.low = value;
    if (i == first || order(value) > order(result.high)) result.high = value;
  }
  return result;
}

std::vector<Slot> MaskProbe::class_slots(int b, int h) const {
  std::vector<Slot> slots(kTileArguments);
  slots[0] = Slot::of(b);
  slots[1] = Slot::of(h);
  slots.insert(slots.end(), uniforms_.begin(), uniforms_.end());
  slots.resize(slots.size() + 2 * code_->summaries.size());
  return slots;
}

/// A class, and which rows and columns are alike.
std::int32_t MaskProbe::call_class(std::vector<Slot>& slots, const TileBounds& tile) const {
  slots[2] = Slot::of(tile.q_lo);
  slots[3] = Slot::of(tile.q_hi);
  slots[4] = Slot::of(tile.kv_lo);
  slots[5] = Slot::of(tile.kv_hi);
  Slot result;
  code_->tile_class(slots.data(), &result);
  return result.i32();
}

TileClass MaskProbe::bounds_class(int b, int h, const TileBounds& tile) const {
  return static_cast<TileClass>(ask_bounds(b, h, tile) & kTileClassBits);
}

std::int32_t MaskProbe::ask_bounds(int b, int h, const TileBounds& tile) const {
  if (!code_->has_mask) return kTileFull;
  if (!has_bounds()) return kTilePartial | (has_map() ? classes().map->always_alike : 0);
  std::vector<Slot> slots = class_slots(b, h);
  std::size_t at = kTileArguments + uniforms_.size();
  for (std::size_t j = 0; j < code_->summaries.size(); ++j) {
    const bool of_query = classes().summaries[j].of_query;
    const Extrema pair =
        extrema(j, b, h, of_query ? tile.q_lo : tile.kv_lo, of_query ? tile.q_hi : tile.kv_hi);
    slots[at++] = pair.low;
    slots[at++] = pair.high;
  }
  return call_class(slots, tile);
}

/// Finds the class of one tile, and counts the looks.
struct MaskProbe::Asker {
  const MaskProbe& probe;
  int b, h;
  const TileBounds& tile;
  std::vector<unsigned short> rows, columns;

  template <class Ask>
  unsigned ballot(Ask ask) const {
    unsigned bits = 0;
    for (int lane = 0; lane < 32; ++lane) bits |= ask(lane) ? 1u << lane : 0u;
    return bits;
  }
  template <class Do>
  void each(Do act) const {
    for (int lane = 0; lane < 32; ++lane) act(lane);
  }
  unsigned short* lines(bool of_rows) { return of_rows ? rows.data() : columns.data(); }
  bool differs(bool of_query, int i) const {
    const int idx = (of_query ? tile.q_lo : tile.kv_lo) + i;
    for (std::size_t j = 0; j < probe.code_->summaries.size(); ++j) {
      if (probe.classes().summaries[j].of_query != of_query) continue;
      const Extrema both = probe.extrema(j, b, h, idx - 1, idx);
      if (both.low.i32() != both.high.i32()) return true;
    }
    return false;
  }

  template <class At>
  Found elements(At at) const {
    ++probe.looks_.elements;
    Found found = {0, 0};
    for (int lane = 0; lane < 32; ++lane) {
      const TileElement element = at(lane);
      if (element.exists)
        (probe.keeps(b, h, element.q, element.kv) ? found.kept : found.dropped) |= 1u << lane;
    }
    return found;
  }

  template <class At>
  PartClasses parts(At at) const {
    ++probe.looks_.parts;
    unsigned found[3] = {};
    for (int lane = 0; lane < 32; ++lane) {
      const TileBox box = at(lane);
      if (!box.exists()) continue;
      const TileClass part = probe.bounds_class(b, h, {box.q_lo, box.q_hi, box.kv_lo, box.kv_hi});
      found[static_cast<std::size_t>(part)] |= 1u << lane;
    }
    return {found[kTileEmpty], found[kTilePartial], found[kTileFull]};
  }
};

TileClass MaskProbe::tile_class(int b, int h, const TileBounds& tile) const {
  const std::int32_t by_bounds = ask_bounds(b, h, tile);
  const auto found = static_cast<TileClass>(by_bounds & kTileClassBits);
  return found == TileClass::partial && has_map() ? open_class(b, h, tile, by_bounds & ~kTileClassBits)
                                                  : found;
}

TileClass MaskProbe::open_class(int b, int h, const TileBounds& tile, int alike) const {
  const TileMap& map = *classes().map;
  const TileSearch search = {.parts = TileParts::of(tile.q_hi - tile.q_lo + 1, tile.kv_hi - tile.kv_lo + 1),
                             .alike = {.row_block = map.row_block,
                                       .column_block = map.column_block,
                                       .relative = map.is_relative,
                                       .always = map.always_alike},
                             .most_steps = map.most_steps,
                             .has_bounds = has_bounds()};
  const auto lines = [](int first, int last) {
    return std::vector<unsigned short>(static_cast<std::size_t>(last - first + 1));
  };
  Asker asker{*this, b, h, tile, lines(tile.q_lo, tile.q_hi), lines(tile.kv_lo, tile.kv_hi)};
  return static_cast<TileClass>(
      class_by_parts(asker, search, {tile.q_lo, tile.q_hi, tile.kv_lo, tile.kv_hi}, alike));
}

TileClass MaskProbe::brute_force(int b, int h, const TileBounds& tile) const {
  if (!code_->has_mask) return TileClass::full;
  std::vector<Slot> slots = {Slot::of(0.0f), Slot::of(b), Slot::of(h), Slot::of(0), Slot::of(0)};
  slots.insert(slots.end(), uniforms_.begin(), uniforms_.end());
  bool any = false;
  bool all = true;
  for (int q_idx = tile.q_lo; q_idx <= tile.q_hi; ++q_idx) {
    slots[3] = Slot::of(q_idx);
    for (int kv_idx = tile.kv_lo; kv_idx <= tile.kv_hi; ++kv_idx) {
      slots[4] = Slot::of(kv_idx);
      Slot kept;
      code_->mask(slots.data(), &kept);
      any |= kept.i32() != 0;
      all &= kept.i32() != 0;
    }
    if (any && !all) return TileClass::partial;
  }
  return all ? TileClass::full : TileClass::empty;
}

double MaskProbe::share_kept(int b, int h, const TileBounds& tile) const {
  constexpr int kSamples = 16;  // of either side
  int kept = 0;
  for (int i = 0; i < kSamples; ++i)
    for (int j = 0; j < kSamples; ++j) {
      const int rows = tile.q_hi - tile.q_lo + 1, columns = tile.kv_hi - tile.kv_lo + 1;
      kept += keeps(b, h, tile.q_lo + (i * rows / kSamples + 3 * j) % rows,
                    tile.kv_lo + (j * columns / kSamples + 5 * i) % columns);
    }
  return static_cast<double>(kept) / (kSamples * kSamples);
}

TileGrid MaskProbe::classify(int b, int h, int tile_q, int tile_kv,
                             const std::function<void(double)>& on_progress) const {
  TileGrid grid{.tile_q = tile_q,
                .tile_kv = tile_kv,
                .rows = ceil_div(size_.q_len, tile_q),
                .columns = ceil_div(size_.kv_len, tile_kv),
                .q_len = size_.q_len,
                .kv_len = size_.kv_len,
                .classes = {}};
  grid.classes.assign(static_cast<std::size_t>(grid.rows) * static_cast<std::size_t>(grid.columns),
                      !code_->has_mask ? TileClass::full : TileClass::partial);
  if (!has_class()) return grid;
  const auto at = [&](int row, int column) -> TileClass& {
    return grid.classes[static_cast<std::size_t>(row) * static_cast<std::size_t>(grid.columns) +
                        static_cast<std::size_t>(column)];
  };
  const int passes = (has_bounds() ? 1 : 0) + (has_map() ? 1 : 0);
  int rows_begun = 0;
  const auto begin_row = [&] {
    if (on_progress) on_progress(static_cast<double>(rows_begun) / (static_cast<double>(grid.rows) * passes));
    ++rows_begun;
  };
  std::vector<int> alike(grid.classes.size(), has_map() ? classes().map->always_alike : 0);
  if (has_bounds()) {
    // Every summary once per tile of its side; then one call a tile.
    std::vector<std::vector<Extrema>> pairs(code_->summaries.size());
    for (std::size_t j = 0; j < code_->summaries.size(); ++j) {
      const bool of_query = classes().summaries[j].of_query;
      for (int i = 0; i < (of_query ? grid.rows : grid.columns); ++i) {
        const TileBounds tile = of_query ? grid.bounds(i, 0) : grid.bounds(0, i);
        pairs[j].push_back(
            extrema(j, b, h, of_query ? tile.q_lo : tile.kv_lo, of_query ? tile.q_hi : tile.kv_hi));
      }
    }
    std::vector<Slot> slots = class_slots(b, h);
    for (int row = 0; row < grid.rows; ++row) {
      begin_row();
      for (int column = 0; column < grid.columns; ++column) {
        std::size_t to = kTileArguments + uniforms_.size();
        for (std::size_t j = 0; j < code_->summaries.size(); ++j) {
          const Extrema& pair =
              pairs[j][static_cast<std::size_t>(classes().summaries[j].of_query ? row : column)];
          slots[to++] = pair.low;
          slots[to++] = pair.high;
        }
        const std::int32_t found = call_class(slots, grid.bounds(row, column));
        at(row, column) = static_cast<TileClass>(found & kTileClassBits);
        alike[static_cast<std::size_t>(&at(row, column) - grid.classes.data())] = found & ~kTileClassBits;
      }
    }
  }
  if (!has_map()) return grid;
  for (int row = 0; row < grid.rows; ++row) {
    begin_row();
    for (int column = 0; column < grid.columns; ++column)
      if (at(row, column) == TileClass::partial)
        at(row, column) = open_class(b, h, grid.bounds(row, column),
                                     alike[static_cast<std::size_t>(&at(row, column) - grid.classes.data())]);
  }
  return grid;
}

ChosenHeads choose_heads(const MaskProbe& probe, const ProblemSize& size, std::int64_t most) {
  const int batches = probe.depends_on_b() ? size.batch : 1;
  const int heads = probe.depends_on_h() ? size.num_q_heads : 1;
  const std::int64_t all = std::int64_t{batches} * heads;
  const std::int64_t count = std::clamp<std::int64_t>(most, 1, all);
  ChosenHeads chosen{.heads = {}, .are_all = count == all};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = i * all / count;
    chosen.heads.emplace_back(static_cast<int>(at / heads), static_cast<int>(at % heads));
  }
  return chosen;
}

}  // namespace fa::tools
