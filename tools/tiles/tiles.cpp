// Counts tiles, finds the parts of the mask that prove each class, and evaluates some partial tiles element
// by element to find what was missed.
#include "tools/tiles/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "compiler/spec/rounding.h"
#include "tools/console/text.h"
#include "tools/tiles/mask_parts.h"

namespace fa::tools {

namespace {

constexpr std::int64_t kMostCalls = 12'000'000;          // of tile classes: some tenths of a second
constexpr std::chrono::milliseconds kLongestCheck{400};  // of partial tiles: a mask may hold a long reduction
constexpr std::int64_t kMostElements = 4'000'000;        // evaluated to check partial tiles

/// The leaves that prove something, those that hold everywhere and those that hold nowhere, a bit each.
static_assert(kMostLeaves <= 32);
struct Proof {
  std::uint32_t holding = 0;
  std::uint32_t failing = 0;
  auto operator<=>(const Proof&) const = default;
};

/// The leaves that prove `part` to be `wanted` all over a tile, if the parts prove it one by one.
std::optional<Proof> prove(const MaskPart& part, bool wanted, const std::vector<TileClass>& leaf_classes) {
  switch (part.kind) {
    case MaskPart::Kind::leaf: {
      const TileClass known = leaf_classes[static_cast<std::size_t>(part.leaf)];
      if (known != (wanted ? TileClass::full : TileClass::empty)) return {};
      const std::uint32_t bit = 1u << part.leaf;
      return wanted ? Proof{bit, 0} : Proof{0, bit};
    }
    case MaskPart::Kind::inverse:
      return prove(part.parts[0], !wanted, leaf_classes);
    default:
      break;
  }
  const bool needs_all = (part.kind == MaskPart::Kind::all) == wanted;
  Proof proof;
  for (const MaskPart& inner : part.parts) {
    const std::optional<Proof> one = prove(inner, wanted, leaf_classes);
    if (one && !needs_all) return one;
    if (!one && needs_all) return {};
    if (one) proof = {proof.holding | one->holding, proof.failing | one->failing};
  }
  return needs_all ? std::optional(proof) : std::nullopt;
}

std::string in_words(const Proof& proof, const std::vector<const MaskPart*>& all) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (proof.holding >> i & 1) words.push_back(all[i]->text);
    if (proof.failing >> i & 1) words.push_back(all[i]->negated);
  }
  return join(words) + " for all";
}

/// Why a part's tiles stay partial, and what to write instead.
void explain_blocker(TileBlocker& blocker, const MaskProbe& leaf) {
  const bool has_note = !leaf.imprecise().empty();
  blocker.why = has_note ? leaf.imprecise().front()
                         : "the first and last rows, columns and distances of a tile do not decide it";
  if (leaf.has_map()) blocker.why += ", and too long to be evaluated for every element of a tile";
  blocker.remedy =
      "make it shorter, index by blocks as large as a tile, such as q_idx / 128 and kv_idx / 128, or say "
      "with "
      "`and` which distances q_idx - kv_idx it can keep at all";
}

/// The tables that a part reads at another place for another q_idx or kv_idx.
std::vector<std::string> tables_by_index(const CheckedSpec& spec) {
  std::vector<std::string> names;
  std::unordered_map<const Expr*, bool> by_index;
  const std::function<bool(const Expr&)> visit = [&](const Expr& expr) {
    if (const auto found = by_index.find(&expr); found != by_index.end()) return found->second;
    bool depends =
        expr.kind == ExprKind::builtin && (expr.builtin == Builtin::q_idx || expr.builtin == Builtin::kv_idx);
    for (const ExprPtr& arg : expr.args) depends |= visit(*arg);
    if (expr.kind == ExprKind::read && depends) {
      const std::string& name = spec.tensors[static_cast<std::size_t>(expr.index)].info.name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return by_index[&expr] = depends;
  };
  if (spec.mask_mod != nullptr) visit(*spec.mask_mod);
  return names;
}

class Reporter {
 public:
  Reporter(const Problem& problem, int tile_q, int tile_kv, const std::shared_ptr<const MaskCode>& code,
           const std::function<void(double)>& on_progress)
      : problem_(problem),
        tile_q_(tile_q),
        tile_kv_(tile_kv),
        on_progress_(on_progress),
        code_(code),
        probe_(code, problem) {}

  TileReport run() {
    report_.has_mask = problem_.spec.checked().has_mask_mod();
    if (report_.has_mask) {
      whole_ = mask_parts(problem_.spec.checked());
      leaves_ = leaves(whole_);
      const bool is_one = whole_.kind == MaskPart::Kind::leaf;
      for (const MaskPart* leaf : leaves_)
        leaf_probes_.emplace_back(is_one ? code_ : std::make_shared<const MaskCode>(*leaf->spec), problem_);
    }
    const auto tiles = [](int length, int tile) { return ceil_div(std::int64_t{length}, tile); };
    const std::int64_t calls = tiles(problem_.size.q_len, tile_q_) * tiles(problem_.size.kv_len, tile_kv_) *
                               static_cast<std::int64_t>(leaf_probes_.size() + 1);
    ChosenHeads chosen = choose_heads(probe_, problem_.size, kMostCalls / std::max<std::int64_t>(calls, 1));
    report_.looked_at = std::move(chosen.heads);
    report_.for_all = chosen.are_all;
    for (const auto& [b, h] : report_.looked_at) count(b, h);
    for (const auto& [key, tiles_of] : proofs_) {
      const auto& [tile_class, proof] = key;
      report_.facts.push_back(
          {.tile_class = tile_class,
           .text = proof ? in_words(*proof, leaves_)
                         : std::string("no element meets all conditions at once, as their bounds show"),
           .tiles = tiles_of});
      if (!proof && tile_class == TileClass::full)
        report_.facts.back().text = "every element meets one condition or another, as their bounds show";
    }
    std::stable_sort(report_.facts.begin(), report_.facts.end(),
                     [](const TileFact& x, const TileFact& y) { return x.tiles > y.tiles; });
    check_partial();
    return std::move(report_);
  }

 private:
  TileGrid classify(const MaskProbe& probe, int b, int h) {
    const auto grids = static_cast<double>(report_.looked_at.size() * (leaf_probes_.size() + 1));
    const auto begun = static_cast<double>(classified_++);
    return probe.classify(b, h, tile_q_, tile_kv_, [&](double done) {
      if (on_progress_) on_progress_((begun + done) / grids);
    });
  }

  void count(int b, int h) {
    const auto start = std::chrono::steady_clock::now();
    TileGrid grid = classify(probe_, b, h);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    report_.milliseconds += elapsed.count();
    std::vector<TileGrid> of_leaves;
    for (const MaskProbe& leaf : leaf_probes_) of_leaves.push_back(classify(leaf, b, h));
    std::vector<TileClass> classes(of_leaves.size());
    for (std::size_t i = 0; i < grid.classes.size(); ++i) {
      const TileClass tile_class = grid.classes[i];
      ++report_.counts[static_cast<std::size_t>(tile_class)];
      if (tile_class == TileClass::partial || leaves_.empty()) continue;
      for (std::size_t leaf = 0; leaf < classes.size(); ++leaf) classes[leaf] = of_leaves[leaf].classes[i];
      ++proofs_[{tile_class, prove(whole_, tile_class == TileClass::full, classes)}];
    }
    if (report_.grid.classes.empty()) report_.grid = std::move(grid);
  }

  /// Evaluates partial tiles of the first (b, h), evenly spread, element by element.
  void check_partial() {
    const TileGrid& grid = report_.grid;
    std::vector<std::size_t> partial;
    for (std::size_t i = 0; i < grid.classes.size(); ++i)
      if (grid.classes[i] == TileClass::partial) partial.push_back(i);
    const std::int64_t most = std::max<std::int64_t>(16, kMostElements / (std::int64_t{tile_q_} * tile_kv_));
    const auto count = std::min<std::size_t>(partial.size(), static_cast<std::size_t>(most));
    const auto [b, h] = report_.looked_at.front();
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < count; ++i) {
      if (std::chrono::steady_clock::now() - start > kLongestCheck) break;
      const std::size_t at = partial[i * partial.size() / count];
      const auto columns = static_cast<std::size_t>(grid.columns);
      const TileBounds tile = grid.bounds(static_cast<int>(at / columns), static_cast<int>(at % columns));
      const TileClass really = probe_.brute_force(b, h, tile);
      ++report_.partial_checked;
      report_.share_kept += probe_.share_kept(b, h, tile) / static_cast<double>(count);
      report_.really_empty += really == TileClass::empty;
      report_.really_full += really == TileClass::full;
      if (really != TileClass::partial) blame(b, h, tile);
    }
    std::stable_sort(report_.blockers.begin(), report_.blockers.end(),
                     [](const TileBlocker& x, const TileBlocker& y) { return x.tiles > y.tiles; });
    if (report_.partial_checked == 0) return;
    report_.share_kept *= static_cast<double>(count) / static_cast<double>(report_.partial_checked);
    constexpr double kFew = 0.1;
    const bool are_most = 2 * report_.counts[static_cast<std::size_t>(TileClass::partial)] >= report_.tiles();
    if (are_most && report_.share_kept < kFew) find_scattered(partial);
  }

  /// Among the parts that read tables by index, the one that keeps the smallest share of partial tiles.
  void find_scattered(const std::vector<std::size_t>& partial) {
    constexpr std::size_t kMostTiles = 16;
    const TileGrid& grid = report_.grid;
    const auto [b, h] = report_.looked_at.front();
    double least = 1;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const std::vector<std::string> tables = tables_by_index(*leaves_[i]->spec);
      if (tables.empty()) continue;
      double share = 0;
      const std::size_t count = std::min(partial.size(), kMostTiles);
      for (std::size_t n = 0; n < count; ++n) {
        const std::size_t at = partial[n * partial.size() / count];
        const auto columns = static_cast<std::size_t>(grid.columns);
        const TileBounds tile = grid.bounds(static_cast<int>(at / columns), static_cast<int>(at % columns));
        share += leaf_probes_[i].share_kept(b, h, tile) / static_cast<double>(count);
      }
      if (share >= least) continue;
      least = share;
      report_.scattered = {
          .line = leaves_[i]->line,
          .column = leaves_[i]->column,
          .text = leaves_[i]->text,
          .why =
              fmt::format("tokens that see each other by '{}' lie far apart", fmt::join(tables, "' and '")),
          .remedy =
              fmt::format("sort the tokens of q, k, v and of what is read by q_idx and kv_idx by '{}' before "
                          "the call, and o back after it: most tiles are skipped then",
                          fmt::join(tables, "', '")),
          .tiles = report_.counts[static_cast<std::size_t>(TileClass::partial)]};
    }
  }

  /// Finds the parts that classes call partial on a tile where they are empty or full.
  void blame(int b, int h, const TileBounds& tile) {
    bool found = false;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (leaf_probes_[i].tile_class(b, h, tile) != TileClass::partial ||
          leaf_probes_[i].brute_force(b, h, tile) == TileClass::partial)
        continue;
      add_blocker(*leaves_[i], &leaf_probes_[i]);
      found = true;
    }
    if (!found) add_blocker(whole_, nullptr);
  }

  void add_blocker(const MaskPart& part, const MaskProbe* leaf) {
    for (TileBlocker& known : report_.blockers) {
      if (known.text != part.text) continue;
      ++known.tiles;
      return;
    }
    TileBlocker blocker{
        .line = part.line, .column = part.column, .text = part.text, .why = {}, .remedy = {}, .tiles = 1};
    if (leaf != nullptr) {
      explain_blocker(blocker, *leaf);
    } else {
      blocker.why =
          "its conditions exclude each other or cover for each other, and none of them decides a whole tile";
      blocker.remedy =
          "say with one more `and` which rows, columns or distances q_idx - kv_idx can be kept at all";
    }
    report_.blockers.push_back(std::move(blocker));
  }

  const Problem& problem_;
  int tile_q_, tile_kv_;
  const std::function<void(double)>& on_progress_;
  std::int64_t classified_ = 0;  // grids: of the mask and of each leaf, for each (b, h)
  std::shared_ptr<const MaskCode> code_;
  MaskProbe probe_;
  MaskPart whole_;
  std::vector<const MaskPart*> leaves_;
  std::vector<MaskProbe> leaf_probes_;
  std::map<std::pair<TileClass, std::optional<Proof>>, std::int64_t> proofs_;
  TileReport report_;
};

}  // namespace

double TileReport::share_of_work() const {
  return tiles() == 0 ? 0 : 1 - static_cast<double>(counts[0]) / static_cast<double>(tiles());
}

TileReport report_tiles(const Problem& problem, int tile_q, int tile_kv, std::shared_ptr<const MaskCode> code,
                        const std::function<void(double)>& on_progress) {
  if (code == nullptr) code = std::make_shared<const MaskCode>(problem.spec.checked());
  return Reporter(problem, tile_q, tile_kv, code, on_progress).run();
}

}  // namespace fa::tools
