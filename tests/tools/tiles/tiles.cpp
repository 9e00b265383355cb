// Tile reports, maps and lints: the output of `facet explain --tiles` and `facet check`, to the letter where
// it is short.
#include "tools/tiles/tiles.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"
#include "tools/tiles/mask_lints.h"
#include "tools/tiles/mask_parts.h"
#include "tools/tiles/tile_map.h"

using namespace fa;
using namespace fa::tools;
using nlohmann::json;

namespace {

Spec spec_of(const std::string& rest) {
  return Spec::parse("attention t\nhead_dim 64\n" + rest + "\n", "t.fa");
}

TileReport report_of(const Spec& spec, int q_len, int kv_len) {
  const ProblemInputs inputs{
      .size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 4, .q_len = q_len, .kv_len = kv_len},
      .params = {},
      .files = {},
      .dropout = {}};
  return report_tiles(make_mask_problem(spec, inputs), 128, 64);
}

std::string fact(const TileReport& report, TileClass tile_class) {
  for (const TileFact& known : report.facts)
    if (known.tile_class == tile_class) return known.text;
  return {};
}

std::vector<std::string> first_lines(const Spec& spec) {
  std::vector<std::string> lines;
  for (const Diagnostic& warning : lint(spec)) lines.push_back(first_line(warning.render()));
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a tile report counts tiles and says in the spec's words what proves them", "[tools]") {
  const TileReport causal = report_of(spec_of("mask_mod = q_idx >= kv_idx"), 1024, 1024);
  CHECK(causal.counts == std::array<std::int64_t, 3>{56, 16, 56});
  CHECK(causal.share_of_work() == 72.0 / 128);
  CHECK(causal.looked_at == std::vector<std::pair<int, int>>{{0, 0}});
  CHECK(causal.for_all);
  CHECK(fact(causal, TileClass::empty) == "q_idx < kv_idx for all");
  CHECK(fact(causal, TileClass::full) == "q_idx >= kv_idx for all");
  CHECK(causal.partial_checked == 16);
  CHECK(causal.blockers.empty());

  const TileReport window = report_of(
      spec_of("let near = q_idx - kv_idx < 256\nmask_mod = near and not q_idx < kv_idx"), 1024, 1024);
  CHECK(fact(window, TileClass::full) == "q_idx - kv_idx < 256 and q_idx >= kv_idx for all");

  const TileReport heads = report_of(spec_of("mask_mod = q_idx + h * 64 >= kv_idx"), 1024, 1024);
  CHECK(heads.looked_at == std::vector<std::pair<int, int>>{{0, 0}, {0, 1}, {0, 2}, {0, 3}});
  CHECK(heads.tiles() == 4 * 128);

  const TileReport together =
      report_of(spec_of("mask_mod = q_idx < kv_idx and q_idx - kv_idx > -1"), 1024, 1024);
  CHECK(together.counts == std::array<std::int64_t, 3>{128, 0, 0});
  CHECK(report_of(spec_of("score_mod = score"), 300, 300).counts == std::array<std::int64_t, 3>{0, 0, 15});
}

TEST_CASE("a tile report is exact where a table decides element by element", "[tools]") {
  const TileReport report = report_of(
      spec_of("tensor keep : bool[q_len, kv_len] = i0 / 128 == i1 / 128\nmask_mod = keep[q_idx, kv_idx]"),
      512, 512);
  CHECK(report.counts == std::array<std::int64_t, 3>{24, 0, 8});
}

TEST_CASE("a tile report does not mind gradients of what the score alone reads", "[tools]") {
  const TileReport learned = report_of(spec_of("tensor s : f32[num_q_heads] grad\nscore_mod = score + s[h]\n"
                                               "mask_mod = q_idx >= kv_idx and q_idx - kv_idx < 128"),
                                       1024, 1024);
  CHECK(fact(learned, TileClass::empty) == "q_idx < kv_idx for all");
}

TEST_CASE("a tile report names the part that is too long to be seen through", "[tools]") {
  const TileReport report = report_of(
      spec_of("tensor list : i32[num_q_heads, 60] = i1 * 64 + i0\n"
              "mask_mod = kv_idx < 4 or any(i < 60: list[h, i] == q_idx * 3 - kv_idx * 2 + 100000)"),
      512, 512);
  CHECK(report.counts == std::array<std::int64_t, 3>{0, 128, 0});
  CHECK(report.really_empty == 28);
  REQUIRE(report.blockers.size() == 1);
  CHECK(report.blockers[0].text == "any(i < 60: list[h, i] == q_idx * 3 - kv_idx * 2 + 100000)");
  CHECK(report.blockers[0].line == 4);
  CHECK(report.blockers[0].column == 26);
  CHECK(report.blockers[0].tiles == 28);
}

TEST_CASE("a tile report names the table whose tokens lie far apart", "[tools]") {
  const TileReport report = report_of(
      spec_of(
          "tensor bucket : i32[max(q_len, kv_len)] = i0 * 7919 % 61\n"
          "let same = bucket[min(q_idx, kv_len - 1)] == bucket[kv_idx]\nmask_mod = same and q_idx >= kv_idx"),
      1024, 1024);
  CHECK(report.counts == std::array<std::int64_t, 3>{56, 72, 0});
  CHECK(report.share_kept < 0.03);
  REQUIRE(report.scattered);
  CHECK(report.scattered->text == "bucket[min(q_idx, kv_len - 1)] == bucket[kv_idx]");
  CHECK_FALSE(report_of(spec_of("mask_mod = (q_idx - kv_idx) % 61 == 0"), 1024, 1024).scattered);
}

TEST_CASE("tile maps are drawn as text and as SVG", "[tools]") {
  const TileGrid grid = report_of(spec_of("mask_mod = q_idx >= kv_idx"), 512, 512).grid;
  CHECK(tile_map_text(grid, 64, 32) == "▒▒······\n██▒▒····\n████▒▒··\n██████▒▒\n");
  CHECK(tile_map_text(grid, 4, 2) == "▒▒··\n██▒▒\n");
  const std::string svg = tile_map_svg(grid, "a < b");
  CHECK(missing(svg, {"<svg xmlns=", "a &lt; b", "kv_idx: 8 tiles of 64", "q_idx: 4 tiles of 128", "partial",
                      "</svg>"})
            .empty());
  // A frame, a background, three in the legend, and one for each run of one class: 1 + 2 + 2 + 2.
  const auto rects = [](const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find("<rect"); at != std::string::npos; at = text.find("<rect", at + 1))
      ++count;
    return count;
  };
  CHECK(rects(svg) == 2 + 3 + 7);
}

TEST_CASE("explain --tiles prints counts, facts and a map, and writes the picture", "[tools]") {
  const TemporaryFolder folder;
  const std::string spec = source_path("specs/sliding_window.fa");
  const auto result = facet({"explain", spec, "--gpu", "a100", "--tiles", "--q-len", "4096", "--plan",
                             "tile_q=128 tile_kv=64", "--map", folder.file("map.svg")});
  CHECK(result.status == 0);
  CHECK(missing(result.out,
                {"tiles of 128 x 64: q_len 4096, kv_len 4096, the same for every b and h",
                 "because distance < 0 for all", "because distance >= window for all",
                 "24.61%  of the dense tiles", "precision  exact: each of 112 partial tiles", "██▒▒····"})
            .empty());
  CHECK(read_file(folder.file("map.svg")).starts_with("<svg "));

  const auto as_json = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"explain", spec,     "--gpu",  "a100",
                                       "--tiles", "--json", "--plan", "tile_q=128 tile_kv=64"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json::parse(facet(arguments).out);
  };
  const json report = as_json({"--q-len", "65536", "--kv-len", "65536"});
  CHECK(report["tiles"]["empty"].get<int>() + report["tiles"]["partial"].get<int>() +
            report["tiles"]["full"].get<int>() ==
        512 * 1024);
  CHECK(report["tile_q"] == 128);
  CHECK(report["tile_kv"] == 64);
  CHECK(as_json({"--q-len", "1024", "--set", "window=0"})["tiles"]["empty"] == 8 * 16);

  CHECK(first_line(facet({"explain", spec, "--set", "window=4"}).err) ==
        "facet: error: --map, --set and --tensor say something about tiles: add --tiles");
}

TEST_CASE("check says what is proved about a mask, or shown by an element", "[tools]") {
  CHECK(first_lines(spec_of("mask_mod = q_idx - kv_idx > 0")) ==
        Lines{"t.fa:3:12: warning: a row can be empty: q_idx=0 of q_len=256, kv_len=256 keeps no key"});
  CHECK(first_lines(spec_of("mask_mod = q_idx + h >= kv_idx + 2")) ==
        Lines{"t.fa:3:12: warning: a row can be empty: h=0 q_idx=0 of q_len=256, kv_len=256 keeps no key"});
  CHECK(first_lines(spec_of("mask_mod = q_idx < kv_idx and q_idx > kv_idx + 3")) ==
        Lines{"t.fa:3:12: warning: mask_mod keeps no key, whatever the lengths: every output is 0"});
  CHECK(first_lines(spec_of("mask_mod = q_idx < kv_idx or not kv_idx > q_idx")) ==
        Lines{"t.fa:3:12: warning: mask_mod keeps every key, whatever the lengths"});
  // It looks at tiles for as long as a check may take: on a slow machine at fewer.
  const Lines long_reduction = first_lines(
      spec_of("tensor list : i32[num_q_heads, 60] = i1 * 64 + i0\n"
              "mask_mod = kv_idx == 0 or any(i < 60: list[h, i] == q_idx * 3 - kv_idx * 2 + 100000)"));
  REQUIRE(long_reduction.size() == 1);
  CHECK(
      std::regex_replace(long_reduction[0], std::regex("though [0-9]+ of [0-9]+ at"), "though N of M at") ==
      "t.fa:4:27: warning: every tile counts as partial, though N of M at q_len=1024, kv_len=1024 keep "
      "nothing: a reduction of more than 32 steps, and too long to be evaluated for every element of a tile");
  CHECK(first_lines(
            spec_of("tensor bucket : i32[kv_len] = i0 * 7919 % 61\n"
                    "mask_mod = bucket[min(q_idx, kv_len - 1)] == bucket[kv_idx] or q_idx == kv_idx")) ==
        Lines{"t.fa:4:12: warning: 128 of 128 tiles are computed for 1.8% of their elements at q_len=1024, "
              "kv_len=1024: tokens that see each other by 'bucket' lie far apart"});
  CHECK(
      first_lines(spec_of("tensor x : f32[100]\nscore_mod = score + x[kv_idx]")) ==
      Lines{
          "t.fa:4:23: warning: index 0 of tensor 'x' can be out of range and is clamped: it is 100 of 100 at "
          "b=0 h=0 q_idx=0 kv_idx=100, q_len=256 kv_len=256"});
  // Contents of tensors are never guessed: without an example there is no witness.
  CHECK(first_lines(spec_of("tensor start : i32[q_len]\nmask_mod = kv_idx >= start[q_idx]")).empty());

  const std::string rendered = lint(spec_of("mask_mod = q_idx - kv_idx > 0")).at(0).render();
  CHECK(missing(rendered,
                {"   3 | mask_mod = q_idx - kv_idx > 0\n     |            ^\n", "help: its output is 0"})
            .empty());
}

TEST_CASE("a witness of a read outside a tensor is an element where it matters", "[tools]") {
  const auto said = [](const std::string& rest) { return first_lines(spec_of(rest)); };
  const std::string table = "tensor x : i32[kv_len] = i0\n";
  const auto unproved = [](const std::string& place) {
    return Lines{"t.fa:" + place +
                 ": warning: index 0 of tensor 'x' cannot be proved in range and is clamped"};
  };
  // The side of `or` and `and`, the arm of `where` and the key that are not needed may read anything.
  CHECK(said(table + "mask_mod = kv_idx < 2 or x[kv_idx - 2] != 7") == unproved("4:35"));
  CHECK(said(table + "mask_mod = x[kv_idx - 2] != 7 and kv_idx >= 2 or kv_idx < 9") == unproved("4:21"));
  CHECK(said(table + "score_mod = score + where(kv_idx >= 2, x[kv_idx - 2], 0)") == unproved("4:49"));
  CHECK(said(table + "score_mod = score + x[kv_idx - 2]\nmask_mod = kv_idx >= 2") == unproved("4:30"));
  CHECK(said(table + "mask_mod = any(i < 4: i > kv_idx or x[kv_idx - i] == 0) or kv_idx != 3") ==
        unproved("4:46"));
  const auto outside = [](const std::string& place, const std::string& what) {
    return Lines{"t.fa:" + place + ": warning: index 0 of tensor 'x' can be out of range and is clamped: " +
                 what + ", q_len=256 kv_len=256"};
  };
  CHECK(said(table + "mask_mod = kv_idx < 1 or x[kv_idx - 2] != 7") ==
        outside("4:35", "it is -1 of 256 at b=0 h=0 q_idx=0 kv_idx=1"));
  CHECK(said(table +
             "score_mod = score + x[kv_idx - 2]\nmask_mod = kv_idx >= 1 or q_idx == 0 and kv_idx == 0") ==
        outside("4:30", "it is -2 of 256 at b=0 h=0 q_idx=0 kv_idx=0"));
  CHECK(said("tensor x : i32[3] = i0\nscore_mod = score + x[h]") ==
        outside("4:23", "it is 3 of 3 at b=0 h=3 q_idx=0 kv_idx=0"));
  CHECK(said(table + "mask_mod = any(i < 4: x[kv_idx + i] == 0) and kv_idx != 3") ==
        outside("4:32", "it leaves 0 to 255 at b=0 h=0 q_idx=0 kv_idx=253"));

  const auto remedy = [](const std::string& rest) { return lint(spec_of(rest)).at(0).remedy; };
  CHECK(remedy(table + "mask_mod = kv_idx < 2 or x[kv_idx - 2] != 7") ==
        "where the mask excludes the others anyway, nothing is wrong");
  CHECK(remedy(table + "score_mod = score + where(kv_idx >= 2, x[kv_idx - 2], 0)") ==
        "min, max, clamp and % are seen by the proof, conditions are not");
  CHECK(remedy("tensor x : i32[3] = i0\nscore_mod = score + x[h]").starts_with("the nearest element"));
}

TEST_CASE("the specs have nothing to warn of", "[tools]") {
  for (const char* name :
       {"alibi", "block_sparse", "butterfly", "causal", "dilated", "document", "global_window",
        "neighbourhood_2d", "prefix_lm", "relative_bias", "sliding_window", "t5_bias", "tree"}) {
    INFO(name);
    CHECK(first_lines(Spec::load(source_path(std::string("specs/") + name + ".fa"))).empty());
  }
}

TEST_CASE("a mask from a file is reported whole", "[tools]") {
  const Spec spec = Spec::load(FA_SOURCE_DIR "/specs/kerple.fa");
  const TileReport report = report_of(spec, 1024, 1024);
  CHECK(report.has_mask);
  CHECK(fact(report, TileClass::empty) == "not mask_mod for all");
  CHECK(fact(report, TileClass::full) == "mask_mod for all");
  CHECK(first_lines(spec).empty());
}

TEST_CASE("lets that use one another twice are no mask of two to the power of lets", "[tools]") {
  const auto chain = [](int lets) {
    std::string text = "let a0 = kv_idx <= q_idx\n";
    for (int i = 1; i <= lets; ++i) {
      const std::string last = "a" + std::to_string(i - 1);
      text += "let a" + std::to_string(i) + " = (" + last + " or kv_idx % 2 == 0) and not (" + last +
              " and q_idx % 3 == 1)\n";
    }
    return spec_of(text + "mask_mod = a" + std::to_string(lets));
  };
  CHECK(leaves(mask_parts(chain(3).checked())).size() == 22);
  for (const int lets : {4, 60}) {
    const Spec spec = chain(lets);
    CHECK(leaves(mask_parts(spec.checked())).empty());
    CHECK(report_of(spec, 256, 256).tiles() == 8);
    CHECK_NOTHROW(lint(spec));
  }
}
