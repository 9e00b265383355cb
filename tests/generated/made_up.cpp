#include "tests/generated/made_up.h"

#include <fmt/format.h>

#include <cstdlib>
#include <numeric>
#include <vector>

#include "compiler/spec/words.h"
#include "tests/generated/expressions.h"
#include "tests/generated/hooks.h"
#include "tests/golden.h"
#include "tests/pairwise.h"

namespace fa::test {
namespace {

struct Shape {
  int q_len, kv_len, batch, num_q_heads, num_kv_heads;
};
constexpr Shape kShapes[] = {
    {1, 1, 2, 2, 2},     {1, 300, 2, 4, 2},   {300, 1, 1, 4, 4},    {63, 65, 2, 4, 1},   {64, 64, 2, 6, 3},
    {127, 257, 1, 4, 2}, {257, 127, 1, 3, 3}, {130, 1000, 1, 2, 1}, {400, 400, 1, 2, 2}, {200, 333, 2, 2, 1}};
struct Dims {
  int head_dim, head_dim_v;
};
constexpr Dims kDims[] = {{64, 64},   {128, 128}, {16, 16},   {80, 64},  {40, 96},
                          {256, 256}, {64, 128},  {192, 128}, {192, 192}};
constexpr const char* kDTypes[] = {"bf16", "f16", "f32"};
constexpr const char* kTableTypes[] = {"f32", "f16", "bf16", "i32", "i8", "bool", "i64", "u8"};
constexpr int kReductions[] = {0, 3, 9, 33};
constexpr int kDepths[] = {1, 2, 5};  // of expressions; the last has about a hundred operations
constexpr const char* kSinks[] = {"", "sink 0.5\n",
                                  "tensor sinks : bf16[batch, num_q_heads]\nsink 2.0 * sinks[b, h]\n",
                                  "sink where(h % 2 == 0, -inf, 0.125 * f32(kv_len) - 1.0)\n"};
constexpr const char* kDropouts[] = {"", "dropout 0.2\n", "dropout 0.0\n"};

constexpr int kMostTensorsBesideFiles = 3;  // 10 are the files', others the forms' and the sink's

enum Factor {
  score_hook,
  mask_hook,
  function,
  table,
  rank,
  reduction,
  sink,
  dropout,
  dtype,
  dims,
  shape,
  over,
  depth,
  num_factors
};

/// The greedy covering starts with the first values of all factors. The specs are reordered so that any few
/// in a row differ.
std::vector<Choice> mixed(const std::vector<Choice>& choices) {
  std::size_t stride = choices.size() * 5 / 8;
  while (std::gcd(stride, choices.size()) != 1) ++stride;
  std::vector<Choice> result;
  for (std::size_t i = 0; i < choices.size(); ++i) result.push_back(choices[i * stride % choices.size()]);
  return result;
}

const std::vector<Choice>& choices() {
  static const std::vector<Choice> kChoices =
      mixed(pairwise({score_forms().size(), mask_kinds().size(), functions().size(), std::size(kTableTypes),
                      kMaxRank, std::size(kReductions), std::size(kSinks), std::size(kDropouts),
                      std::size(kDTypes), std::size(kDims), std::size(kShapes), 5, std::size(kDepths)}));
  return kChoices;
}

}  // namespace

std::uint64_t covering_count() { return choices().size(); }

MadeUp made_up(std::uint64_t number) {
  const Choice& choice = choices()[number % choices().size()];
  Expressions make(number * 0x9e3779b97f4a7c15ULL + 1);
  const auto value = [&](Factor factor, const auto& list) -> const auto& { return list[choice[factor]]; };
  const HookForm& score_form = score_forms()[choice[score_hook]];
  const HookForm& mask_kind = mask_kinds()[choice[mask_hook]];
  const std::string_view wanted = functions()[choice[function]].name;
  const auto wanted_over = static_cast<Over>(choice[over]);
  make.set_reduction(value(reduction, kReductions));
  if (score_form.is_from_file || mask_kind.is_from_file) make.set_most_tensors(kMostTensorsBesideFiles);

  // The table and the function are read and called by the score_mod, or where there is none by the mask.
  HookTools tools{.make = make,
                  .table_type = value(table, kTableTypes),
                  .table_rank = static_cast<int>(choice[rank]) + 1,
                  .over = wanted_over,
                  .function = wanted,
                  .depth = value(depth, kDepths)};
  const std::string score_mod = score_form.write(tools);
  const std::string mask_mod = mask_kind.write(tools);

  MadeUp made{.number = number, .features = {}, .text = {}, .inputs = {}};
  const Dims& d = value(dims, kDims);
  const Shape& s = value(shape, kShapes);
  made.features =
      fmt::format("{} + {}, {}, {} rank {}, reductions of {}", score_form.name, mask_kind.name, wanted,
                  value(table, kTableTypes), choice[rank] + 1, value(reduction, kReductions));
  made.text = fmt::format("attention made_up_{}\nhead_dim {}\nhead_dim_v {}\ndtype {}\n{}{}{}{}{}{}", number,
                          d.head_dim, d.head_dim_v, value(dtype, kDTypes), tools.head, make.declarations(),
                          score_mod, mask_mod, value(sink, kSinks), value(dropout, kDropouts));
  made.inputs.size = {.batch = s.batch,
                      .num_q_heads = s.num_q_heads,
                      .num_kv_heads = s.num_kv_heads,
                      .q_len = s.q_len,
                      .kv_len = s.kv_len};
  made.inputs.dropout_seed = number;
  made.inputs.data_seed = number + 1;
  return made;
}

Spec MadeUp::spec() const {
  return Spec::parse(text, std::string(FA_SOURCE_DIR) + "/tests/import/good/made_up.fa");
}

std::string MadeUp::print() const {
  const ProblemSize& s = inputs.size;
  return fmt::format("number {}: {}; B{} H{}/{} {} x {}\n{}", number, features, s.batch, s.num_q_heads,
                     s.num_kv_heads, s.q_len, s.kv_len, text);
}

Range made_up_range(std::uint64_t otherwise) {
  const char* asked = std::getenv("FA_TEST_SPECS");
  if (asked == nullptr) return {.first = 0, .count = otherwise};
  char* end = nullptr;
  const std::uint64_t first = std::strtoull(asked, &end, 10);
  if (*end == ':') return {.first = first, .count = std::strtoull(end + 1, nullptr, 10)};
  return {.first = 0, .count = first};
}

}  // namespace fa::test
