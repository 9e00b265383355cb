// Tile classes against brute force: a class may say "partial" too often, never "empty" or "full" wrongly.
#include "compiler/analysis/tile_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "compiler/spec/spec.h"
#include "tests/catch.h"
#include "tests/hook_jit.h"

namespace {

using fa::test::HookJit;
using fa::test::Slot;

struct Problem {
  int batch = 2, num_q_heads = 4, num_kv_heads = 2, q_len = 1, kv_len = 1;
};

/// A mask, its tile class and its captured tensors, ready to be asked.
class Probe {
 public:
  Probe(const std::string& text, Problem problem, std::mt19937& random)
      : problem_(problem), spec_(fa::Spec::parse(text)) {
    fa::HookIr hooks = fa::lower(spec_.checked());
    has_mask_ = hooks.mask_mod != nullptr;
    classes_ = fa::derive_tile_classes(hooks);
    num_summaries_ = classes_.summaries.size();
    args_ = hooks.args;
    fill_tensors(random);
    if (!has_mask_) return;
    jit_ = std::make_unique<HookJit>(std::move(hooks));
    mask_ = jit_->find("mask_mod");
    if (classes_.function == nullptr) return;
    class_ = jit_->find("tile_class");
    for (std::size_t j = 0; j < num_summaries_; ++j)
      summaries_.push_back(jit_->find(fmt::format("summary.{}", j)));
  }

  bool has_class() const { return class_ != nullptr; }

  bool mask(int b, int h, int q, int kv) const {
    std::vector<Slot> slots = {Slot::of(0.0f), Slot::of(b), Slot::of(h), Slot::of(q), Slot::of(kv)};
    add_uniforms(slots);
    Slot result;
    mask_(slots.data(), &result);
    return result.i32() != 0;
  }

  int tile_class(int b, int h, int q_lo, int q_hi, int kv_lo, int kv_hi) const {
    std::vector<Slot> slots = {Slot::of(b),    Slot::of(h),     Slot::of(q_lo),
                               Slot::of(q_hi), Slot::of(kv_lo), Slot::of(kv_hi)};
    add_uniforms(slots);
    for (std::size_t j = 0; j < num_summaries_; ++j) {
      const bool of_query = classes_.summaries[j].of_query;
      int low = std::numeric_limits<int>::max();
      int high = std::numeric_limits<int>::min();
      for (int i = of_query ? q_lo : kv_lo; i <= (of_query ? q_hi : kv_hi); ++i) {
        std::vector<Slot> inner = {Slot::of(b), Slot::of(h), Slot::of(i)};
        add_uniforms(inner);
        Slot value;
        summaries_[j](inner.data(), &value);
        low = std::min(low, value.i32());
        high = std::max(high, value.i32());
      }
      slots.push_back(Slot::of(low));
      slots.push_back(Slot::of(high));
    }
    Slot result;
    class_(slots.data(), &result);
    return result.i32();
  }

  int brute_force(int b, int h, int q_lo, int q_hi, int kv_lo, int kv_hi) const {
    bool any = false;
    bool all = true;
    for (int q = q_lo; q <= q_hi; ++q)
      for (int kv = kv_lo; kv <= kv_hi; ++kv) {
        const bool kept = mask(b, h, q, kv);
        any |= kept;
        all &= kept;
      }
    return all ? 2 : any ? 1 : 0;
  }

  const Problem& problem() const { return problem_; }
  void set_param(std::size_t index, int value) { params_[index] = value; }

 private:
  /// Captured tensors are larger than any extent asked for here, and hold small numbers of either sign.
  void fill_tensors(std::mt19937& random) {
    for (const fa::ParamInfo& param : spec_.params())
      params_.push_back(std::holds_alternative<int>(param.default_value) ? std::get<int>(param.default_value)
                                                                         : 0);
    for (const fa::TensorInfo& tensor : spec_.tensors()) {
      std::vector<std::int32_t> data(1 << 16);
      const bool sorted = tensor.name.starts_with("sorted");
      int value = 0;
      for (std::int32_t& element : data) {
        if (sorted)
          element = value += random() % 20 == 0;
        else if (tensor.dtype == fa::DType::boolean)
          element = static_cast<int>((random() % 2) | (random() % 2) << 8 | (random() % 2) << 16 |
                                     (random() % 2) << 24);
        else
          element = static_cast<int>(random() % 9) - 1;
      }
      tensors_.push_back(std::move(data));
    }
  }

  void add_uniforms(std::vector<Slot>& slots) const {
    for (std::size_t i = 5; i < args_.size(); ++i) {
      switch (args_[i].kind) {
        case fa::HookArgKind::batch:
          slots.push_back(Slot::of(problem_.batch));
          break;
        case fa::HookArgKind::num_q_heads:
          slots.push_back(Slot::of(problem_.num_q_heads));
          break;
        case fa::HookArgKind::num_kv_heads:
          slots.push_back(Slot::of(problem_.num_kv_heads));
          break;
        case fa::HookArgKind::group_size:
          slots.push_back(Slot::of(problem_.num_q_heads / problem_.num_kv_heads));
          break;
        case fa::HookArgKind::q_len:
          slots.push_back(Slot::of(problem_.q_len));
          break;
        case fa::HookArgKind::kv_len:
          slots.push_back(Slot::of(problem_.kv_len));
          break;
        case fa::HookArgKind::scale:
          slots.push_back(Slot::of(1.0f));
          break;
        case fa::HookArgKind::param:
          slots.push_back(Slot::of(params_[static_cast<std::size_t>(args_[i].index)]));
          break;
        case fa::HookArgKind::tensor:
          slots.push_back(
              Slot::of(static_cast<const void*>(tensors_[static_cast<std::size_t>(args_[i].index)].data())));
          break;
        default:
          FAIL("an element argument among the uniforms");
      }
    }
  }

  Problem problem_;
  fa::Spec spec_;
  bool has_mask_ = false;
  fa::TileClasses classes_;
  std::size_t num_summaries_ = 0;
  std::vector<fa::HookArg> args_;
  std::vector<int> params_;
  std::vector<std::vector<std::int32_t>> tensors_;
  std::unique_ptr<HookJit> jit_;
  HookJit::Function mask_ = nullptr;
  HookJit::Function class_ = nullptr;
  std::vector<HookJit::Function> summaries_;
};

struct Tally {
  int tiles = 0;
  int exact = 0;
  double share() const { return tiles == 0 ? 1.0 : static_cast<double>(exact) / tiles; }
};

/// Asks for `count` random tiles; fails on the first class that brute force contradicts.
Tally compare(const Probe& probe, int count, std::mt19937& random, const std::string& what, int aligned = 0) {
  Tally tally;
  const Problem& p = probe.problem();
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int i = 0; i < count; ++i) {
    const int b = pick(p.batch);
    const int h = pick(p.num_q_heads);
    int q_lo = pick(p.q_len);
    int kv_lo = pick(p.kv_len);
    int rows = 1 + pick(24);
    int columns = 1 + pick(24);
    if (aligned > 0) {
      rows = aligned;
      columns = aligned / 2;
      q_lo -= q_lo % rows;
      kv_lo -= kv_lo % columns;
    }
    const int q_hi = std::min(q_lo + rows, p.q_len) - 1;
    const int kv_hi = std::min(kv_lo + columns, p.kv_len) - 1;
    const int found = probe.tile_class(b, h, q_lo, q_hi, kv_lo, kv_hi);
    const int truth = probe.brute_force(b, h, q_lo, q_hi, kv_lo, kv_hi);
    ++tally.tiles;
    tally.exact += found == truth;
    if (found != truth && found != 1)
      FAIL(fmt::format("{}\nclass {} but brute force {} on b={} h={} q={}..{} kv={}..{}, q_len={} kv_len={}",
                       what, found, truth, b, h, q_lo, q_hi, kv_lo, kv_hi, p.q_len, p.kv_len));
  }
  return tally;
}

std::string head(const std::string& declarations) {
  return "attention probe\nhead_dim 16\ndtype f32\n" + declarations;
}

/// Random mask expressions of the whole language.
class Generator {
 public:
  explicit Generator(std::mt19937& random) : random_(random) {}

  std::string boolean(int depth) {
    switch (pick(depth <= 0 ? 4 : 10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return compare(depth);
      case 4:
      case 5:
        return fmt::format("({} and {})", boolean(depth - 1), boolean(depth - 1));
      case 6:
        return fmt::format("({} or {})", boolean(depth - 1), boolean(depth - 1));
      case 7:
        return fmt::format("(not {})", boolean(depth - 1));
      case 8:
        return fmt::format("where({}, {}, {})", boolean(depth - 2), boolean(depth - 1), boolean(depth - 1));
      default:
        return fmt::format("flags[{}]", index());
    }
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  std::string compare(int depth) {
    static constexpr const char* kOps[] = {"<", "<=", ">", ">=", "==", "!="};
    return fmt::format("({} {} {})", integer(depth), kOps[pick(6)], integer(depth));
  }

  std::string index() {
    static constexpr const char* kIndices[] = {"q_idx",      "kv_idx", "q_idx / 3",
                                               "kv_idx % 5", "h",      "q_idx - kv_idx"};
    return kIndices[pick(6)];
  }

  std::string integer(int depth) {
    if (depth <= 0 || pick(3) == 0) {
      static constexpr const char* kLeaves[] = {"q_idx", "kv_idx", "q_idx", "kv_idx", "b",         "h",
                                                "n",     "big",    "q_len", "kv_len", "group_size"};
      if (pick(4) == 0) return std::to_string(pick(40) - 8);
      return kLeaves[pick(11)];
    }
    static constexpr const char* kConstants[] = {"2", "3", "4", "7", "8", "16", "-3", "n", "(n + 2)"};
    switch (pick(15)) {
      case 0:
      case 1:
        return fmt::format("({} + {})", integer(depth - 1), integer(depth - 1));
      case 2:
      case 3:
      case 4:
        return fmt::format("({} - {})", integer(depth - 1), integer(depth - 1));
      case 5:
        return fmt::format("({} * {})", integer(depth - 1),
                           pick(2) == 0 ? integer(depth - 2) : kConstants[pick(9)]);
      case 6:
      case 7:
        return fmt::format("({} / {})", integer(depth - 1), kConstants[pick(9)]);
      case 8:
      case 9:
        return fmt::format("({} % {})", integer(depth - 1), kConstants[pick(9)]);
      case 10:
        return fmt::format("{}({}, {})", pick(2) == 0 ? "min" : "max", integer(depth - 1),
                           integer(depth - 1));
      case 11:
        return fmt::format("abs({})", integer(depth - 1));
      case 12: {
        static constexpr const char* kBits[] = {"&", "|", "^", "<<", ">>"};
        const int op = pick(5);
        return fmt::format("({} {} {})", integer(depth - 1), kBits[op], op >= 3 ? "2" : integer(depth - 1));
      }
      case 13:
        return fmt::format("where({}, {}, {})", boolean(depth - 2), integer(depth - 1), integer(depth - 1));
      default:
        return fmt::format("table[{}]", index());
    }
  }

  std::mt19937& random_;
};

}  // namespace

TEST_CASE("random masks: brute force never contradicts a tile class", "[analysis]") {
  constexpr int masks = 500;
  std::mt19937 random(20261120);
  Generator generator(random);
  Tally all;
  for (int i = 0; i < masks; ++i) {
    const std::string mask = generator.boolean(3);
    const std::string text = head(
        "param n : i32 = 5\nparam big : i32 = 2147483647\ntensor table : i32[q_len + kv_len]\n"
        "tensor flags : bool[q_len + kv_len]\nmask_mod = " +
        mask + "\n");
    Problem problem;
    problem.q_len = 1 + static_cast<int>(random() % 60);
    problem.kv_len = 1 + static_cast<int>(random() % 60);
    Probe probe(text, problem, random);
    if (!probe.has_class()) continue;
    const int n_values[] = {5, 0, -1, -7, 1};
    probe.set_param(0, n_values[random() % 5]);
    const Tally tally = compare(probe, 200, random, mask);
    all.tiles += tally.tiles;
    all.exact += tally.exact;
  }
  WARN(fmt::format("{} tiles of {} random masks: {:.1f}% exact", all.tiles, masks, 100 * all.share()));
  CHECK(all.tiles >= masks * 150);
}

TEST_CASE("masks people write: the tile class is exact", "[analysis]") {
  struct Case {
    const char* name;
    const char* text;
    int aligned = 0;
  };
  const Case cases[] = {
      {"causal", "mask_mod = q_idx >= kv_idx"},
      {"causal, bottom-right", "mask_mod = q_idx + (kv_len - q_len) >= kv_idx"},
      {"window", "param window : i32 = 13\nmask_mod = q_idx >= kv_idx and q_idx - kv_idx < window"},
      {"two-sided window", "mask_mod = abs(q_idx - kv_idx) <= 11"},
      {"prefix", "param prefix : i32 = 17\nmask_mod = kv_idx < prefix or q_idx >= kv_idx"},
      {"dilated window", "mask_mod = q_idx >= kv_idx and q_idx - kv_idx < 64 and (q_idx - kv_idx) % 4 == 0",
       16},
      {"block layout",
       "tensor layout : bool[num_q_heads, ceil_div(q_len, 16), ceil_div(kv_len, 16)]\n"
       "mask_mod = layout[h, q_idx / 16, kv_idx / 16]",
       16},
      {"butterfly", "let x = (q_idx / 16) ^ (kv_idx / 16)\nmask_mod = (x & (x - 1)) == 0", 16},
      {"batched", "mask_mod = q_idx / 24 == kv_idx / 24 and q_idx % 24 >= kv_idx % 24", 8},
      {"block diffusion", "mask_mod = q_idx / 16 == kv_idx / 16 or q_idx / 16 > kv_idx / 16"},
      {"documents in order",
       "tensor sorted_doc : i32[max(q_len, kv_len)]\nmask_mod = sorted_doc[q_idx] == sorted_doc[kv_idx]"},
      {"shared prefix",
       "tensor prefix_len : i32[batch]\nmask_mod = kv_idx < prefix_len[b] * 10 or q_idx >= kv_idx"},
      {"packed documents",
       "tensor sorted_doc : i32[q_len]\ntensor sorted_start : i32[kv_len + 9]\n"
       "mask_mod = kv_idx >= sorted_start[sorted_doc[q_idx]] and kv_idx <= q_idx"},
  };
  std::mt19937 random(7);
  for (const Case& c : cases) {
    for (const auto& [q_len, kv_len] : {std::pair{200, 200}, {131, 77}, {50, 190}}) {
      Problem problem;
      problem.q_len = q_len;
      problem.kv_len = kv_len;
      const Probe probe(head(std::string(c.text) + "\n"), problem, random);
      REQUIRE(probe.has_class());
      const Tally tally = compare(probe, 300, random, c.name, c.aligned);
      INFO(fmt::format("{}, q_len {} kv_len {}: {} of {} exact", c.name, q_len, kv_len, tally.exact,
                       tally.tiles));
      CHECK(tally.exact == tally.tiles);
    }
  }
}
