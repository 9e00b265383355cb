// `facet run`: numbers, files in and out, and what --verify says.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"
#include "tools/problem/host_tensor.h"
#include "tools/problem/npy.h"
#include "tools/problem/problem.h"

using namespace fa;
using namespace fa::tools;
using nlohmann::json;

TEST_CASE("run computes, shows and verifies") {
  const auto result = facet(small_run({causal_path()}, {"--verify"}));
  CHECK(result.status == 0);
  CHECK(first_line(result.out) == "causal  bf16, head_dim 16");
  for (const char* part : {"device", "plan", "compiled", "problem", "time", "checksum", "empty rows",
                           "verify     ok: 140 of 140 rows"}) {
    CHECK(missing(result.out, {part}) == "");
  }
  CHECK(result.err.empty());

  const auto as_json =
      facet(small_run({causal_path()}, {"--verify", "--json", "--dtype", "f32", "--repeat", "2"}));
  CHECK(as_json.status == 0);
  const json report = json::parse(as_json.out);
  CHECK(report["spec"]["dtype"] == "f32");
  CHECK(report["problem"]["q_len"] == 70);
  CHECK(report["problem"]["kv_len"] == 70);
  CHECK(report["kernel"]["device"] == "host");
  CHECK(report["time_ms"]["runs"] == 2);
  CHECK(report["verify"]["ok"] == true);
  CHECK(report["verify"]["rows"] == 140);
}

TEST_CASE("run gives the same numbers for the same seed, whatever the layout") {
  const auto checksum_of = [](const std::vector<std::string>& more) {
    const auto result = facet(small_run({causal_path(), "--json", "--repeat", "1"}, more));
    REQUIRE(result.status == 0);
    return json::parse(result.out)["checksum"].get<std::string>();
  };
  const auto first = checksum_of({});
  CHECK(checksum_of({}) == first);
  CHECK(checksum_of({"--layout", "bshd"}) == first);
  CHECK(checksum_of({"--no-cache"}) == first);
  CHECK(checksum_of({"--seed", "2"}) != first);
}

TEST_CASE("run reads and writes .npy files") {
  const TemporaryFolder folder;
  HostTensor q("q", DType::f32, {1, 2, 3, 16});
  HostTensor k("k", DType::f32, {1, 1, 5, 16});
  HostTensor v("v", DType::f32, {1, 1, 5, 16});
  fill_random(q, 1);
  fill_random(k, 2);
  for (std::int64_t i = 0; i < v.elements(); ++i) v.set(i, 2.5);
  for (const auto* tensor : {&q, &k, &v}) write_npy(folder.file(tensor->name + ".npy"), *tensor);
  const std::vector<std::string> files{"run",        causal_path(),
                                       "--device",   "host",
                                       "--head-dim", "16",
                                       "--q",        folder.file("q.npy"),
                                       "--k",        folder.file("k.npy"),
                                       "--v",        folder.file("v.npy"),
                                       "--verify"};
  auto words = files;
  words.insert(words.end(), {"--out", folder.file("o.npy"), "--lse", folder.file("lse.npy")});
  const auto result = facet(words);
  CHECK(result.status == 0);
  CHECK(missing(result.out, {"batch 1, heads 2 over 1 kv heads, q_len 3, kv_len 5"}) == "");
  CHECK(missing(result.out, {"wrote " + folder.file("o.npy")}) == "");
  const HostTensor o = read_npy(folder.file("o.npy"), "o", DType::f32, {1, 2, 3, 16});
  for (std::int64_t i = 0; i < o.elements(); ++i) CHECK(o.get(i) == 2.5);  // an average of equal values
  CHECK(read_npy_header(folder.file("lse.npy")).shape == std::vector<std::int64_t>{1, 2, 3});

  auto wrong = files;
  wrong.insert(wrong.end(), {"--kv-len", "6"});
  const auto refused = facet(wrong);
  CHECK(refused.status == 2);
  CHECK(first_line(refused.err) ==
        "facet: error: " + folder.file("k.npy") +
            ": has shape [1, 1, 5, 16], tensor 'k' is [1, 1, 6, 16] for this problem");
  wrong = files;
  wrong[5] = "32";
  CHECK(facet(wrong).status == 2);
  wrong = files;
  wrong[7] = folder.file("none.npy");
  CHECK(first_line(facet(wrong).err) ==
        "facet: error: " + folder.file("none.npy") + ": cannot be read: No such file or directory");
}

TEST_CASE("run takes params, captured tensors and dropout by name") {
  const TemporaryFolder folder;
  const auto spec = folder.write("t.fa",
                                 "attention t\nhead_dim 16\nparam cap : f32 = 2\ntensor bias : f32[kv_len]\n"
                                 "score_mod = cap * score + bias[kv_idx]\ndropout 0.5\n");
  HostTensor bias("bias", DType::f32, {70});
  write_npy(folder.file("bias.npy"), bias);
  const auto result =
      facet(small_run({spec}, {"--set", "cap=3", "--tensor", "bias=" + folder.file("bias.npy"), "--dropout",
                               "0.25", "--verify"}));
  CHECK(result.status == 0);
  CHECK(missing(result.out, {"cap 3, dropout 0.25 (seed 1)"}) == "");

  auto set_first = small_run({"--set", "cap=3", "--tensor", "bias=" + folder.file("bias.npy"), spec});
  CHECK(facet(set_first).status == 0);

  const auto first_error = [&](const std::vector<std::string>& more) {
    const auto refused = facet(small_run({spec}, more));
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    return first_line(refused.err);
  };
  CHECK(first_error({"--set", "cup=3"}) == "facet: error: spec 't' has no param 'cup'; it has cap");
  CHECK(without_start(first_error({"--gpu", "b200"}),
                      "facet: error: no target is called 'b200'; the targets are t4, ") == "");
  CHECK(first_error({"--set", "cap"}) == "facet: error: --set cap: write it as --set name=value");
  CHECK(first_error({"--set", "cap=1", "--set", "cap=2"}) == "facet: error: --set: 'cap' is given twice");
  CHECK(first_error({"--set", "cap=x"}) == "facet: error: param 'cap' is f32, 'x' is not a number");
  CHECK(first_error({"--tensor", "bios=x.npy"}) ==
        "facet: error: spec 't' has no tensor 'bios'; it has q, k, v and bias");
  CHECK(first_error({"--dropout", "1.5"}) ==
        "facet: error: dropout is 1.5: a probability is between 0 and 1");
  CHECK(first_error({"--kv-heads", "4"}) ==
        "facet: error: heads (2) is not a multiple of kv-heads (4); each kv head serves a whole group of "
        "query heads");
  CHECK(without_start(first_error({"--plan", "tile_q=17"}), "facet: error: --plan \"tile_q=17\": ") == "");
  CHECK(missing(first_error({"--head-dim", "20"}), {"error: "}) == "");
}

TEST_CASE("run says when a result cannot be written, before it computes it") {
  const TemporaryFolder folder;
  const auto result = facet(small_run({causal_path()}, {"--out", folder.file("none/o.npy")}));
  CHECK(result.status == 1);
  CHECK(result.out == "");
  CHECK(first_line(result.err) == "facet: error: " + folder.file("none/o.npy") + ": cannot be written: " +
                                      folder.file("none") + ": No such file or directory");
}

TEST_CASE("--verify says what it cannot hold a kernel to, and does not fail for it", "[tools]") {
  const TemporaryFolder folder;
  const std::string begin =
      "define i1 @mask_mod(i32 %b, i32 %h, i32 %q, i32 %k) {\n%early = icmp slt i32 %k, 30\n";
  const auto verified = [&](const std::string& name, const std::string& body) {
    std::ofstream(folder.file(name + ".ll")) << begin << body;
    std::ofstream(folder.file(name + ".fa")) << "attention t\nmask_mod from \"" << name << ".ll\"\n";
    const auto result = facet(small_run({folder.file(name + ".fa")}, {"--verify"}));
    CHECK(result.status == 0);
    return result.out;
  };
  CHECK(missing(verified("select",
                         "%c = icmp sle i32 %k, %q\n%r = select i1 %early, i1 %c, i1 undef\nret i1 %r\n}\n"),
                {"verify     ok: 140 of 140 rows"}) == "");
  CHECK(
      missing(verified("phi",
                       "br i1 %early, label %yes, label %end\nyes:\n%c = icmp sle i32 %k, %q\nbr label %end\n"
                       "end:\n%r = phi i1 [ %c, %yes ], [ undef, %0 ]\nret i1 %r\n}\n"),
              {"nothing could be compared: all 140 rows that were looked at are left out",
               "the hook's file leaves its result undefined at b 0, h 0, q_idx 0, kv_idx 30"}) == "");
  CHECK(missing(verified("local",
                         "%x = alloca i1\nbr i1 %early, label %yes, label %end\nyes:\n"
                         "store i1 true, ptr %x\nbr label %end\nend:\n%r = load i1, ptr %x\nret i1 %r\n}\n"),
                {"nothing could be compared"}) == "");

  HostTensor v("v", DType::f32, {1, 2, 70, 16});
  for (std::int64_t i = 0; i < v.elements(); ++i) v.set(i, 0.5);
  v.set(66 * 16 + 3, std::nan(""));
  v.set(67 * 16 + 4, HUGE_VAL);
  write_npy(folder.file("v.npy"), v);
  const auto masked = facet(small_run({causal_path()}, {"--verify", "--v", folder.file("v.npy")}));
  CHECK(masked.status == 0);
  CHECK(missing(masked.out, {"verify     ok: 140 of 140 rows",
                             "elements of o are NaN, and may be: v holds a NaN or an infinity"}) == "");
  for (const char* odd : {"--v", "--k"}) {  // rows from 66 on see them
    INFO(odd);
    const auto backward =
        facet(small_run({causal_path()}, {"--verify", "--backward", odd, folder.file("v.npy")}));
    CHECK(backward.status == 0);
    CHECK(missing(backward.out,
                  {"verify     ok: gradients of 140 rows",
                   "elements of gradients are NaN, and may be: their head's q, k or v hold a NaN"}) == "");
  }
}

TEST_CASE("run --backward computes, shows and verifies gradients", "[backward]") {
  const TemporaryFolder folder;
  const std::string slopes = folder.write(
      "slopes.fa",
      "attention slopes\nhead_dim 16\nparam tau : f32 = 0.5 grad\ntensor slopes : f32[num_q_heads] grad\n"
      "score_mod = tau * score - slopes[h] * abs(q_idx - kv_idx)\nmask_mod = kv_idx <= q_idx\n");
  const auto result = facet(small_run({slopes}, {"--backward", "--verify", "--repeat", "2"}));
  CHECK(result.status == 0);
  for (const char* part : {"backward   ", "d_q [1, 2, 70, 16] bf16, checksum", "tau [] f32", "slopes [2] f32",
                           "verify     ok: gradients of 140 rows against fp64", "slopes: max error"})
    CHECK(missing(result.out, {part}) == "");

  const auto as_json =
      facet(small_run({slopes}, {"--backward", "--verify-rows", "20", "--json", "--layout", "bshd"}));
  CHECK(as_json.status == 0);
  const json report = json::parse(as_json.out)["backward"];
  CHECK(report["verify"]["ok"] == true);
  CHECK(report["verify"]["rows"] == 20);
  CHECK(report["gradients"].size() == 5);
  CHECK(report["gradients"][4]["name"] == "slopes");
}
