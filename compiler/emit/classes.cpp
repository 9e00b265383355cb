#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/emit/classes.h"
#include "compiler/emit/expr.h"
#include "compiler/emit/hooks.h"

namespace fa {
namespace {

std::string shape_text(const Summary& summary) {
  return fmt::format("{{{}, {}, {}}}", summary.of_query, summary.depends_on_b, summary.depends_on_h);
}

}  // namespace

std::string print_classes(const HookIr& hooks, const TileClasses& classes, DType dtype) {
  if (classes.function == nullptr && classes.score == nullptr) return "using Classes = NoClasses;\n";
  // A mask's functions are the accurate ones, here as there; score_mod's are as the hooks have them.
  std::string text;
  const ExprPrinter::Options options{.eager_bools = true, .rolled_loops = true};
  ExprPrinter::Options score_options = options;
  score_options.fast_math = dtype != DType::f32;
  if (classes.function != nullptr) text += print_function(*classes.function, "tile_class_of", options);
  if (classes.score != nullptr) text += print_function(*classes.score, "score_class_of", score_options);
  std::string shapes;
  std::string cases;
  std::string reads;
  std::string pairs;
  for (std::size_t j = 0; j < classes.summaries.size(); ++j) {
    const Summary& summary = classes.summaries[j];
    text += "\n" + print_function(*summary.function, fmt::format("summary_{}", j), {});
    shapes += fmt::format("    if (which == {}) return {};\n", j, shape_text(summary));
    cases += fmt::format("    if (which == {0}) return summary_{0}(b, h, idx{1});\n", j,
                         print_uniforms(hooks.args));
    reads += fmt::format("    const int2 s{0} = summaries[{0}][{1}];\n", j,
                         summary.of_query ? "q_tile" : "kv_pair");
    pairs += fmt::format(", s{0}.x, s{0}.y", j);
  }
  const std::string tile = "b, h, q_lo, q_hi, kv_lo, kv_hi" + print_uniforms(hooks.args);
  const std::string tile_class =
      classes.function == nullptr ? "kTileFull" : fmt::format("tile_class_of({}{})", tile, pairs);
  const std::string score_class =
      classes.score == nullptr ? "false" : fmt::format("score_class_of({}) != 0", tile);
  text += fmt::format(R"(
struct Classes {{
  static constexpr bool kHasTileClass = {has_class};
  static constexpr bool kHasScoreClass = {has_score};
  static constexpr int kNumSummaries = {count};

  static __device__ __forceinline__ constexpr SummaryShape shape(int which) {{
{shapes}    return {{}};
  }}

  static __device__ __forceinline__ int summary(int which, const ForwardParams& p, int b, int h, int idx) {{
{cases}    return 0;
  }}

  template <int kRows>
  static __device__ __forceinline__ int tile_class(const ForwardParams& p, const int2* const (&summaries)[kRows], int b, int h,
                                                   int q_lo, int q_hi, int kv_lo, int kv_hi, int q_tile, int kv_pair) {{
{reads}    return {tile_class};
  }}

  static __device__ __forceinline__ bool score_is_plain(const ForwardParams& p, int b, int h, int q_lo, int q_hi, int kv_lo, int kv_hi) {{
    return {score_class};
  }}
}};
)",
                      fmt::arg("has_class", classes.function != nullptr),
                      fmt::arg("has_score", classes.score != nullptr), fmt::arg("tile_class", tile_class),
                      fmt::arg("score_class", score_class), fmt::arg("count", classes.summaries.size()),
                      fmt::arg("shapes", shapes), fmt::arg("cases", cases), fmt::arg("reads", reads));
  return text;
}

}  // namespace fa
