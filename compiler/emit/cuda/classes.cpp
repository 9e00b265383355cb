#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include <algorithm>

#include "compiler/emit/cuda/classes.h"
#include "compiler/emit/cuda/expr.h"
#include "compiler/emit/cuda/hooks.h"

namespace fa {
namespace {

static_assert(TileMap::kRowsAlike == 4 &&
              TileMap::kColumnsAlike == 8);  // as in templates/common/tiles/tile_parts.h

/// The functions that a search of tiles asks, and what it has to know, as members of `struct Classes`.
std::string print_map(const TileClasses& classes, bool has_score, const std::string& uniforms) {
  const TileMap& map = *classes.map;
  const TileMapShape shape = map_shape(classes, has_score);
  int counts[2] = {};  // of keys, of queries
  std::string cases[2];
  for (std::size_t j = 0; j < classes.summaries.size(); ++j) {
    const Summary& summary = classes.summaries[j];
    const std::string value = fmt::format("summary_{}(b, h, idx{})", j, uniforms);
    cases[summary.of_query] += fmt::format("    if (which == {}) return {};\n", counts[summary.of_query]++,
                                           summary.is_float ? "ordered_int(" + value + ")" : value);
  }
  return fmt::format(R"(
  static constexpr TileMapShape kMap = {{{of_batch}, {of_head}, {has_plain}, {round_rows}}};
  static constexpr Alike kAlike = {{{rows}, {columns}, {relative}, {always}, {by_blocks}}};
  static constexpr int kMostSteps = {steps};
  static constexpr bool kHasBounds = {has_bounds};
  static constexpr int kNumQuerySummaries = {num_queries};
  static constexpr int kNumKeySummaries = {num_keys};

  static __device__ __forceinline__ int query_summary(int which, const CallParams& p, int b, int h, int idx) {{
{queries}    return 0;
  }}

  static __device__ __forceinline__ int key_summary(int which, const CallParams& p, int b, int h, int idx) {{
{keys}    return 0;
  }}

  static __device__ __forceinline__ bool keeps(const CallParams& p, int b, int h, int q_idx, int kv_idx) {{
    return mask_of(0.0f, b, h, q_idx, kv_idx{uniforms});
  }}
)",
                     fmt::arg("of_batch", shape.of_batch), fmt::arg("of_head", shape.of_head),
                     fmt::arg("has_plain", shape.has_plain), fmt::arg("round_rows", shape.round_rows),
                     fmt::arg("rows", map.row_block), fmt::arg("columns", map.column_block),
                     fmt::arg("relative", map.is_relative), fmt::arg("always", map.always_alike),
                     fmt::arg("by_blocks", map.by_blocks), fmt::arg("steps", map.most_steps),
                     fmt::arg("has_bounds", classes.function != nullptr),
                     fmt::arg("num_queries", counts[true]), fmt::arg("num_keys", counts[false]),
                     fmt::arg("queries", cases[true]), fmt::arg("keys", cases[false]),
                     fmt::arg("uniforms", uniforms));
}

}  // namespace

TileMapShape map_shape(const TileClasses& classes, bool has_plain) {
  const bool of_keys = std::ranges::any_of(classes.summaries, [](const Summary& s) { return !s.of_query; });
  return {.of_batch = classes.map->of_batch,
          .of_head = classes.map->of_head,
          .has_plain = has_plain,
          .round_rows = of_keys ? kMostRoundRows : 1};
}

std::string print_classes(const HookIr& hooks, const TileClasses& classes, const ScoreClass& score,
                          DType dtype) {
  const bool has_class = classes.function != nullptr || classes.map;
  if (!has_class && score.function == nullptr) return "using Classes = NoClasses;\n";
  // A mask's functions are the accurate ones, here as there; score_mod's are as the hooks have them.
  std::string text;
  const ExprPrinter::Options options{.eager_bools = true, .rolled_loops = true};
  ExprPrinter::Options score_options = options;
  score_options.fast_math = dtype != DType::f32;
  if (classes.function != nullptr) text += print_function(*classes.function, "tile_class_of", options);
  if (score.function != nullptr) text += print_function(*score.function, "score_class_of", score_options);
  if (classes.map) text += "\n" + print_function(*hooks.mask_mod, "mask_of", options);
  std::string pairs;
  for (std::size_t j = 0; j < classes.summaries.size(); ++j) {
    text += "\n" + print_function(*classes.summaries[j].function, fmt::format("summary_{}", j), options);
    for (const char end : {'x', 'y'})
      pairs += fmt::format(
          fmt::runtime(classes.summaries[j].is_float ? ", ordered_float(s{}.{})" : ", s{}.{}"), j, end);
  }
  const std::string of_launch = print_uniforms(hooks.args, "b");
  const std::string tile = "b, h, q_lo, q_hi, kv_lo, kv_hi" + of_launch;
  std::string reads;
  for (std::size_t j = 0; j < classes.summaries.size(); ++j)
    reads += fmt::format("    const int2 s{0} = pairs({0});\n", j);
  const std::string tile_class = classes.function != nullptr ? fmt::format("tile_class_of({}{})", tile, pairs)
                                 : classes.map               ? "kTilePartial | kAlike.always"
                                                             : "kTileFull";
  const std::string score_class =
      score.function == nullptr ? "false" : fmt::format("score_class_of({}) != 0", tile);
  text += fmt::format(
      R"(
struct Classes {{
  static constexpr bool kHasTileClass = {has_class};
  static constexpr bool kHasTileMap = {has_map};
  static constexpr bool kHasScoreClass = {has_score};

  template <class Pairs>
  static __device__ __forceinline__ int tile_class(const CallParams& p, Pairs pairs, int b, int h, int q_lo, int q_hi, int kv_lo,
                                                   int kv_hi) {{
{reads}    return {tile_class};
  }}

  static __device__ __forceinline__ bool score_is_plain(const CallParams& p, int b, int h, int q_lo, int q_hi, int kv_lo, int kv_hi) {{
    return {score_class};
  }}
{map}}};
)",
      fmt::arg("has_class", has_class), fmt::arg("has_map", classes.map.has_value()),
      fmt::arg("has_score", score.function != nullptr), fmt::arg("tile_class", tile_class),
      fmt::arg("score_class", score_class), fmt::arg("reads", reads),
      fmt::arg("map", classes.map ? print_map(classes, score.function != nullptr, of_launch) : ""));
  return text;
}

}  // namespace fa
