#include "tests/generated/hooks.h"

#include <fmt/format.h>

#include "tests/import/head.h"

namespace fa::test {
namespace {

std::string score(const std::string& expression) { return "score_mod = " + expression + "\n"; }
std::string mask(const std::string& expression) { return "mask_mod = " + expression + "\n"; }

constexpr const char* kPosition = "(q_idx + (kv_len - q_len))";

std::string hook_from(HookTools& tools, const char* hook, std::initializer_list<const char*> files) {
  // The file's globals are the head's; the expressions' own names never clash with them.
  const std::vector<const char*> list(files);
  if (tools.head.empty()) {
    tools.head = tests::kImportHead;
    tools.head.erase(0, tools.head.find("param"));
  }
  return fmt::format("{} from \"{}\"\n", hook, tools.make.pick(list));
}

}  // namespace

std::string HookTools::real(Over of, int deep) {
  std::string text;
  if (!has_table) {
    has_table = true;
    const std::string read = make.table(table_type, table_rank, of);
    const bool is_float = table_type == "f32" || table_type == "f16" || table_type == "bf16";
    text = is_float               ? "0.5 * " + read + " + "
           : table_type == "bool" ? "where(" + read + ", 0.5, -0.25) + "
                                  : "0.125 * f32(" + read + ") + ";
    make.use_next(function);
  }
  return text + make.real(of, deep);
}

const std::vector<HookForm>& score_forms() {
  static const std::vector<HookForm> kForms = {
      {"no score_mod", [](HookTools&) { return std::string(); }},
      {"identity", [](HookTools&) { return score("score"); }},
      {"constant factor",
       [](HookTools& t) { return score(fmt::format("score * 1.25 - {}", t.make.real(Over::head, 1))); }},
      {"factor by head", [](HookTools& t) { return score(fmt::format("score * ({})", t.real(Over::head))); }},
      {"factor by row",
       [](HookTools& t) { return score(fmt::format("score * sigmoid({})", t.real(Over::row))); }},
      {"factor by column",
       [](HookTools& t) { return score(fmt::format("score * tanh({}) + 1.0", t.real(Over::column))); }},
      {"linear",
       [](HookTools& t) {
         return score(
             fmt::format("score - ({}) * 0.0625 * f32({} - kv_idx)", t.real(Over::head, 1), kPosition));
       }},
      {"linear with rows",
       [](HookTools& t) {
         return score(fmt::format("score + 0.02 * f32(kv_idx) + ({})", t.real(Over::row)));
       }},
      {"by distance", [](HookTools& t) { return score("score + " + t.real(Over::distance)); }},
      {"clamped distance",
       [](HookTools& t) {
         return score(written("score + 0.1 * f32(clamp(q_idx - kv_idx, -{}, {})) * ({})",
                              {1 + t.make.below(60), t.make.below(60), t.real(Over::head, 1)}));
       }},
      {"plain far away",
       [](HookTools& t) {
         return score(
             written("score + where(q_idx - kv_idx == {}, {}, 0.5)", {t.make.below(9), t.real(Over::head)}));
       }},
      {"shifted by blocks",
       [](HookTools& t) {
         const std::string table = t.make.tensor("f32", "ceil_div(q_len, 64), ceil_div(kv_len, 64)");
         return score(fmt::format("score + {}[q_idx / 64, kv_idx / 64] + {}", table, t.real(Over::head)));
       }},
      {"minimum of indices",
       [](HookTools& t) {
         return score(written("score + 0.05 * f32(min(q_idx - kv_idx, {})) + {}",
                              {t.make.below(20), t.real(Over::head)}));
       }},
      {"row addend", [](HookTools& t) { return score("score + " + t.real(Over::row)); }},
      {"column addend", [](HookTools& t) { return score("score + " + t.real(Over::column)); }},
      {"row and column",
       [](HookTools& t) {
         return score(written("score + ({}) - ({})", {t.real(Over::row), t.make.real(Over::column, 2)}));
       }},
      {"row times column",
       [](HookTools& t) {
         return score(written("score + ({}) * ({})", {t.real(Over::row), t.make.real(Over::column, 1)}));
       }},
      {"products of rows",
       [](HookTools& t) {
         const int n = 1 + t.make.below(34);
         const std::string rows = t.make.tensor("f32", fmt::format("q_len, {}", n));
         const std::string columns = t.make.tensor("f16", fmt::format("kv_len, {}", n));
         return score(fmt::format("score + 0.1 * sum(r < {0}: {1}[q_idx, r] * {2}[kv_idx, r]) + {3}", n, rows,
                                  columns, t.real(Over::head, 1)));
       }},
      {"element addend", [](HookTools& t) { return score("score + " + t.real(Over::element)); }},
      {"element addend and factor",
       [](HookTools& t) {
         return score(
             written("score * (1.0 + 0.1 * tanh({})) + {}", {t.real(Over::element), t.make.real(t.over, 1)}));
       }},
      {"choice by head",
       [](HookTools& t) {
         return score(written("where(h % 2 == 0, score + {}, score * 0.5 - {})",
                              {t.real(t.over), t.make.real(t.over, 1)}));
       }},
      {"choice by element",
       [](HookTools& t) {
         return score(written("where({}, score, 0.5 * score + {})",
                              {t.make.condition(Over::element, 2), t.real(t.over)}));
       }},
      {"soft cap",
       [](HookTools& t) { return score(fmt::format("5.0 * tanh((score + {}) / 5.0)", t.real(t.over))); }},
      {"gate",
       [](HookTools& t) { return score(fmt::format("score * sigmoid(score + {})", t.real(t.over))); }},
      {"choice by score",
       [](HookTools& t) {
         return score(fmt::format("where(score > {}, score, 0.1 * score)", t.real(t.over, 1)));
       }},
      {"any function of the score",
       [](HookTools& t) {
         t.make.set_score("score");
         std::string text = score(fmt::format("score + {}", t.real(Over::element)));
         t.make.set_score("");
         return text;
       }},
      {"no use of the score", [](HookTools& t) { return score(t.real(t.over)); }},
      {"minus infinity",
       [](HookTools& t) {
         return score(written("where({}, score + {}, -inf)", {t.make.condition(t.over, 1), t.real(t.over)}));
       }},
      {"from a file",
       [](HookTools& t) { return hook_from(t, "score_mod", {"math.ll", "tensors.ll", "tables.O0.ll"}); },
       true},
  };
  return kForms;
}

const std::vector<HookForm>& mask_kinds() {
  static const std::vector<HookForm> kKinds = {
      {"no mask", [](HookTools&) { return std::string(); }},
      {"causal", [](HookTools&) { return mask(fmt::format("{} >= kv_idx", kPosition)); }},
      {"causal top-left", [](HookTools&) { return mask("q_idx >= kv_idx"); }},
      {"window",
       [](HookTools& t) {
         const std::string window = t.make.param("i32", std::to_string(1 + t.make.below(90)));
         return mask(fmt::format("{0} >= kv_idx and {0} - kv_idx < {1}", kPosition, window));
       }},
      {"documents",
       [](HookTools& t) {
         const std::string ids = t.make.tensor("i32", "batch, max(q_len, kv_len)",
                                               fmt::format("(i1 + 7 * i0) / {}", 9 + t.make.below(90)));
         return mask(fmt::format("{0}[b, q_idx] == {0}[b, kv_idx] and q_idx >= kv_idx", ids));
       }},
      {"random labels",
       [](HookTools& t) {
         const std::string ids = t.make.tensor("i8", "max(q_len, kv_len)");
         return mask(fmt::format("{0}[q_idx] == {0}[kv_idx] or kv_idx == 0", ids));
       }},
      {"blocks of a layout",
       [](HookTools& t) {
         const std::string layout =
             t.make.tensor("bool", "num_q_heads, ceil_div(q_len, 64), ceil_div(kv_len, 64)");
         return mask(fmt::format("{}[h, q_idx / 64, kv_idx / 64]", layout));
       }},
      {"routed blocks",
       [](HookTools& t) {
         const std::string blocks = t.make.tensor("i32", "num_q_heads, ceil_div(q_len, 32), 4");
         return mask(fmt::format("any(r < 4: {}[h, q_idx / 32, r] == kv_idx / 32)", blocks));
       }},
      {"listed keys",
       [](HookTools& t) {
         const std::string keys = t.make.tensor("i32", "q_len, 5");
         return mask(fmt::format("any(r < 5: {}[q_idx, r] == kv_idx) or kv_idx < {}", keys, t.make.below(4)));
       }},
      {"listed keys among others",
       [](HookTools& t) {
         const std::string keys = t.make.tensor("i32", "batch, num_q_heads, q_len, 6",
                                                "(7 * i2 + 11 * i3 * i3 + i1) % (i2 + 9) - 2");
         return mask(fmt::format("q_idx >= kv_idx and (any(r < 6: {}[b, h, q_idx, r] == kv_idx) or {})", keys,
                                 t.make.condition(Over::element, 1)));
       }},
      {"dilated",
       [](HookTools& t) {
         return mask(fmt::format("{} % {} == kv_idx % {} and q_idx >= kv_idx", kPosition, 4,
                                 4 + 0 * t.make.below(2)));
       }},
      {"global and window",
       [](HookTools& t) {
         return mask(
             written("kv_idx < {} or abs(q_idx - kv_idx) < {}", {t.make.below(6), 1 + t.make.below(70)}));
       }},
      {"choice by head",
       [](HookTools& t) {
         return mask(fmt::format("where(h % 2 == 0, {}, {})", t.make.condition(Over::element, 1),
                                 "q_idx / 32 == kv_idx / 32"));
       }},
      {"timestamps",
       [](HookTools& t) {
         const std::string time =
             t.make.tensor("f32", "batch, max(q_len, kv_len)", "0.37 * i1 + sin(f32(i1)) + i0");
         return mask(fmt::format(
             "{0}[b, q_idx] - {0}[b, kv_idx] >= 0.0 and {0}[b, q_idx] - {0}[b, kv_idx] <= 30.0", time));
       }},
      {"spans with a sentinel",
       [](HookTools& t) {
         const std::string span =
             t.make.tensor("i32", "max(q_len, kv_len)", "where(i0 / 20 % 3 == 1, i0 / 60, -1)");
         return mask(fmt::format("q_idx >= kv_idx or ({0}[q_idx] == {0}[kv_idx] and {0}[q_idx] >= 0)", span));
       }},
      {"intervals of rows",
       [](HookTools& t) {
         const std::string begin = t.make.tensor("i32", "q_len", "max(i0 - i0 % 50 - 20, 0)");
         const std::string end = t.make.tensor("i32", "q_len", "i0 + 30");
         return mask(fmt::format("(kv_idx >= {0}[q_idx] and kv_idx < {1}[q_idx]) or kv_idx < 3", begin, end));
       }},
      {"powers of two",
       [](HookTools&) { return mask("q_idx >= kv_idx and ((q_idx - kv_idx) & (q_idx - kv_idx - 1)) == 0"); }},
      {"padding by length",
       [](HookTools& t) {
         const std::string length = t.make.tensor("i32", "batch", "kv_len - 3 - 17 * i0");
         return mask(fmt::format("kv_idx < {}[b]", length));
       }},
      {"matrix of ancestors",
       [](HookTools& t) {
         const std::string node = t.make.tensor("i32", "max(q_len, kv_len)", "(i0 * 7 + i0 / 9) % 24");
         const std::string matrix = t.make.tensor("bool", "24, 24");
         return mask(fmt::format("{0}[{1}[q_idx], {1}[kv_idx]]", matrix, node));
       }},
      {"condition of rows", [](HookTools& t) { return mask(t.make.condition(Over::row, 2)); }},
      {"condition of columns", [](HookTools& t) { return mask(t.make.condition(Over::column, 2)); }},
      {"condition of heads", [](HookTools& t) { return mask(t.make.condition(Over::head, 2)); }},
      {"condition of the distance", [](HookTools& t) { return mask(t.make.condition(Over::distance, 2)); }},
      {"any condition", [](HookTools& t) { return mask(t.make.condition(Over::element, 3)); }},
      {"comparison of floats",
       [](HookTools& t) {
         return mask(written("{} < {}", {t.real(t.over), t.make.real(Over::element, 2)}));
       }},
      {"everything", [](HookTools&) { return mask("kv_idx < kv_len"); }},
      {"nothing", [](HookTools&) { return mask("kv_idx > kv_len"); }},
      {"from a file",
       [](HookTools& t) {
         return hook_from(t, "mask_mod", {"document.ll", "bits.ll", "loops.O0.ll", "pointers.ll"});
       },
       true},
  };
  return kKinds;
}

}  // namespace fa::test
