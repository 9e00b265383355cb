// `facet check`: what it accepts, what it warns of, and its JSON.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa::tools;
using nlohmann::json;

TEST_CASE("check says ok for every good spec and everything about a bad one") {
  const TemporaryFolder folder;
  const auto bad =
      folder.write("bad.fa", "attention bad\nhead_dim 64\nmask_mod = q_idx >= kv\nscore_mod = scor\n");
  const auto good = facet({"check", causal_path()});
  CHECK(good.status == 0);
  CHECK(good.out == "ok " + causal_path() + ": causal, head_dim 128, bf16\n");
  CHECK(good.err.empty());

  const auto both = facet({"check", bad, causal_path()});
  CHECK(both.status == 2);
  CHECK(first_line(both.err) == bad + ":3:21: error: unknown name 'kv'; did you mean 'kv_idx'?");
  CHECK(missing(both.err, {bad + ":4:13: error: unknown name 'scor'; did you mean 'score'?"}) == "");
  CHECK(missing(both.out, {"ok " + causal_path()}) == "");

  const auto as_json = facet({"check", bad, causal_path(), "--json"});
  CHECK(as_json.status == 2);
  const json report = json::parse(as_json.out);
  CHECK(report[0]["ok"] == false);
  CHECK(report[0]["diagnostics"].size() == 2);
  CHECK(report[0]["diagnostics"][0]["line"] == 3);
  CHECK(report[1]["ok"] == true);
  CHECK(report[1]["name"] == "causal");

  const auto absent = facet({"check", folder.file("none.fa")});
  CHECK(absent.status == 2);
  CHECK(without_start(first_line(absent.err), folder.file("none.fa")) == "");
  CHECK(missing(first_line(absent.err), {"error: "}) == "");
}

TEST_CASE("check says what gets gradients", "[backward]") {
  const TemporaryFolder folder;
  const auto file =
      folder.write("slopes.fa",
                   "attention slopes\nhead_dim 16\nparam tau : f32 = 0.5 grad\n"
                   "tensor slopes : f32[num_q_heads] grad\nscore_mod = tau * score + slopes[h]\n");
  const auto text = facet({"check", file});
  CHECK(text.out == "ok " + file + ": slopes, head_dim 16, bf16, gradients of tau, slopes\n");
  CHECK(json::parse(facet({"check", file, "--json"}).out)[0]["gradients"] == json({"tau", "slopes"}));
}

TEST_CASE("check warns of what may surprise, and --strict takes that for wrong") {
  const TemporaryFolder folder;
  const auto unused = folder.write("unused.fa", "attention t\nhead_dim 64\nparam window : i32 = 4\n");
  const auto plain = facet({"check", unused});
  CHECK(plain.status == 0);
  CHECK(missing(plain.err, {"unused.fa:3:7: warning: "}) == "");
  CHECK(facet({"check", unused, "--strict"}).status == 2);
  const auto clamped = folder.write(
      "clamped.fa", "attention t\nhead_dim 64\ntensor x : f32[8]\nscore_mod = score + x[kv_idx]\n");
  const auto warned = facet({"check", clamped});
  CHECK(warned.status == 0);
  CHECK(missing(
            warned.err,
            {"warning: index 0 of tensor 'x' can be out of range and is clamped: it is 8 of 8 at b=0 h=0"}) ==
        "");
}

TEST_CASE("check takes specs whose tensors do not fit its own lengths, and goes on to the next", "[tools]") {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name, const std::string& items) {
    std::ofstream(folder.file(name)) << "attention t\n" << items;
    return folder.file(name);
  };
  const std::string longer =
      file("longer.fa", "tensor t : f32[kv_len - q_len] = 1.0\nscore_mod = score + t[min(kv_idx, 0)]\n");
  const std::string large =
      file("large.fa", "tensor t : f32[100000, 100000] = 1.0\nmask_mod = t[q_idx, kv_idx] > 0.5\n");
  const auto result = facet({"check", longer, large, causal_path()});
  CHECK(result.status == 0);
  CHECK(missing(result.out, {"ok " + longer, "ok " + large, "ok " + causal_path()}) == "");
}

TEST_CASE("nested reductions of as many steps as are allowed are checked, and built for the host",
          "[tools]") {
  const TemporaryFolder folder;
  const std::string steps = folder.write("steps.fa",
                                         "attention t\nhead_dim 16\ndtype f32\n"
                                         "mask_mod = any(i < 256: any(j < 256: i * j == kv_idx))\n");
  CHECK(facet({"check", steps}).status == 0);
  const auto run =
      facet({"run", steps, "--device", "host", "--q-len", "24", "--heads", "1", "--repeat", "1", "--verify"});
  CHECK(run.status == 0);
  CHECK(missing(run.out, {"ok: 24 of 24 rows against fp64"}) == "");
}
