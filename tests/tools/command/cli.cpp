// The command line as a user meets it: exit statuses, first lines, JSON, files in and out.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fa/options.h"
#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"
#include "tools/problem/host_tensor.h"
#include "tools/problem/npy.h"
#include "tools/problem/problem.h"

using namespace fa;
using namespace fa::tools;
using nlohmann::json;

namespace {

const std::vector<std::string> kSmall{"--device", "host", "--q-len",    "70",
                                      "--heads",  "2",    "--head-dim", "16"};

std::vector<std::string> run(std::vector<std::string> words, const std::vector<std::string>& more = {}) {
  words.insert(words.begin(), "run");
  words.insert(words.end(), kSmall.begin(), kSmall.end());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string causal() { return source_path("specs/causal.fa"); }

}  // namespace

TEST_CASE("facet without a command shows help and fails; with --help it succeeds") {
  const auto nothing = facet({});
  CHECK(nothing.status == 2);
  CHECK(missing(nothing.err, {"check", "bench"}) == "");
  CHECK(nothing.out.empty());
  for (const char* command :
       {"check", "explain", "emit", "run", "bench", "build", "bundle", "cache", "help", "completion"}) {
    const auto help = facet({command, "--help"});
    CHECK(help.status == 0);
    CHECK(missing(help.out, {"Examples:", std::string("facet ") + command}) == "");
    CHECK(help.err.empty());
  }
  CHECK(facet({"--help"}).status == 0);
  CHECK(facet({"help"}).out == facet({"--help"}).out);
  CHECK(facet({"help", "run"}).out == facet({"run", "--help"}).out);
  CHECK(facet({"-v"}).out == facet({"--version"}).out);
  const auto version = facet({"--version"});
  CHECK(version.status == 0);
  CHECK(without_start(version.out, "facet 0.") == "");
}

TEST_CASE("bad command lines are status 2 with one plain sentence") {
  const auto unknown = facet({"run", causal(), "--bogus"});
  CHECK(unknown.status == 2);
  CHECK(first_line(unknown.err) == "facet: error: The following argument was not expected: --bogus");
  CHECK(missing(unknown.err, {"`facet run --help`"}) == "");
  CHECK(facet({"frobnicate"}).status == 2);
  const auto misspelt = facet({"rum", causal()});
  CHECK(misspelt.status == 2);
  CHECK(missing(misspelt.err, {"there is no command 'rum'", "did you mean `facet run`?"}) == "");
  CHECK(facet({"check"}).status == 2);
  CHECK(facet({"run", causal(), "--batch", "0"}).status == 2);
  CHECK(facet({"run", causal(), "--batch", "many"}).status == 2);
  CHECK(facet({"run", causal(), "--device", "tpu"}).status == 2);
  CHECK(facet({"emit", causal(), "--stage", "soup"}).status == 2);
  const auto gpu = facet({"explain", causal(), "--gpu", "voodoo2"});
  CHECK(gpu.status == 2);
  CHECK(without_start(first_line(gpu.err), "facet: error: ") == "");
  CHECK(missing(first_line(gpu.err), {"voodoo2", "h100"}) == "");
}

TEST_CASE("check says ok for every good spec and everything about a bad one") {
  const TemporaryFolder folder;
  const auto bad =
      folder.write("bad.fa", "attention bad\nhead_dim 64\nmask_mod = q_idx >= kv\nscore_mod = scor\n");
  const auto good = facet({"check", causal()});
  CHECK(good.status == 0);
  CHECK(good.out == "ok " + causal() + ": causal, head_dim 128, bf16\n");
  CHECK(good.err.empty());

  const auto both = facet({"check", bad, causal()});
  CHECK(both.status == 2);
  CHECK(first_line(both.err) == bad + ":3:21: error: unknown name 'kv'; did you mean 'kv_idx'?");
  CHECK(missing(both.err, {bad + ":4:13: error: unknown name 'scor'; did you mean 'score'?"}) == "");
  CHECK(missing(both.out, {"ok " + causal()}) == "");

  const auto as_json = facet({"check", bad, causal(), "--json"});
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

TEST_CASE("JSON says what it can of names that are no UTF-8") {
  const auto absent = facet({"check", "none\xa0.fa", "--json"});
  CHECK(absent.status == 2);
  CHECK(json::parse(absent.out)[0]["file"] == "none\xef\xbf\xbd.fa");
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

TEST_CASE("run computes, shows and verifies") {
  const auto result = facet(run({causal()}, {"--verify"}));
  CHECK(result.status == 0);
  CHECK(first_line(result.out) == "causal  bf16, head_dim 16");
  for (const char* part : {"device", "plan", "compiled", "problem", "time", "checksum", "empty rows",
                           "verify     ok: 140 of 140 rows"}) {
    CHECK(missing(result.out, {part}) == "");
  }
  CHECK(result.err.empty());

  const auto as_json = facet(run({causal()}, {"--verify", "--json", "--dtype", "f32", "--repeat", "2"}));
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
    const auto result = facet(run({causal(), "--json", "--repeat", "1"}, more));
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
  const std::vector<std::string> files{"run",        causal(),
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
  const auto result = facet(run({spec}, {"--set", "cap=3", "--tensor", "bias=" + folder.file("bias.npy"),
                                         "--dropout", "0.25", "--verify"}));
  CHECK(result.status == 0);
  CHECK(missing(result.out, {"cap 3, dropout 0.25 (seed 1)"}) == "");

  auto set_first = run({"--set", "cap=3", "--tensor", "bias=" + folder.file("bias.npy"), spec});
  CHECK(facet(set_first).status == 0);

  const auto first_error = [&](const std::vector<std::string>& more) {
    const auto refused = facet(run({spec}, more));
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
  CHECK(first_error({"--dropout", "1.5"}) == "facet: error: dropout is 1.5, a probability lies in [0, 1]");
  CHECK(first_error({"--kv-heads", "4"}) ==
        "facet: error: heads (2) is not a multiple of kv-heads (4); each kv head serves a whole group of "
        "query heads");
  CHECK(without_start(first_error({"--plan", "tile_q=17"}), "facet: error: --plan \"tile_q=17\": ") == "");
  CHECK(missing(first_error({"--head-dim", "20"}), {"error: "}) == "");
}

TEST_CASE("run says when a result could not be written") {
  const TemporaryFolder folder;
  const auto result = facet(run({causal()}, {"--out", folder.file("none/o.npy")}));
  CHECK(result.status == 1);
  CHECK(first_line(result.err) == "facet: error: " + folder.file("none/o.npy") + ": cannot be written: " +
                                      folder.file("none") + ": No such file or directory");
}

TEST_CASE("explain tells facts, plan and traffic, for a GPU that is not there") {
  const auto result = facet({"explain", source_path("specs/softcap.fa"), "--gpu", "a100", "--q-len", "8192"});
  CHECK(result.status == 0);
  CHECK(without_start(first_line(result.out), "softcap  bf16, head_dim 128, for a100: ") == "");
  for (const char* part : {"facts", "plan", "why", "shared memory", "registers", "standard attention",
                           "fused kernel", "bound", "predicted", "q_len 8192, kv_len 8192"}) {
    CHECK(missing(result.out, {part}) == "");
  }
  const json report = json::parse(facet({"explain", causal(), "--gpu", "h100", "--json"}).out);
  CHECK(report["target"] == "h100");
  CHECK(report["shared_memory"] > 0);
  CHECK(report["bytes"]["standard"] > report["bytes"]["fused"]);
  const auto host = facet({"explain", causal(), "--gpu", "host", "--dtype", "f32"});
  CHECK(host.status == 0);
  CHECK(missing(host.out, {"products             vectors of ", " floats; panels of "}) == "");
}

TEST_CASE("explain says which tiles are visited") {
  const auto tiles = [](const char* spec) {
    return facet({"explain", source_path(std::string("specs/") + spec + ".fa"), "--gpu", "host"}).out;
  };
  CHECK(missing(tiles("full"), {"every one: nothing is masked"}) == "");
  CHECK(missing(tiles("causal"), {"by the mask's class: empty ones are left out, full ones run no mask\n"}) ==
        "");
  CHECK(missing(tiles("document"),
                {"full ones run no mask; a pass before finds the classes, from 2 one-sided parts and "
                 "elements where those do not tell\n"}) == "");
}

TEST_CASE("explain for a T4 names its kernels, and what to do about bf16") {
  const auto f16 = facet({"explain", causal(), "--gpu", "t4", "--dtype", "f16"});
  CHECK(missing(f16.out, {"sm75 q_outer", "products             tensor cores: f16 times f16"}) == "");
  CHECK(missing(facet({"explain", causal(), "--gpu", "t4", "--dtype", "f32"}).out, {"FFMA"}) == "");
  const auto bf16 = facet({"explain", causal(), "--gpu", "t4"});
  CHECK(bf16.status != 0);
  CHECK(missing(
            bf16.err,
            {"error: dtype bf16 is more than t4 has: its tensor cores multiply f16",
             "help: write `dtype f16` (facet: --dtype f16) and convert q, k and v, or run it on the host"}) ==
        "");
}

TEST_CASE("emit prints every stage that needs no NVRTC, to stdout or to a file") {
  const TemporaryFolder folder;
  const auto stage = [&](const std::string& name, const std::string& gpu) {
    const auto result = facet({"emit", causal(), "--stage", name, "--gpu", gpu});
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    return result.out;
  };
  CHECK(missing(stage("ast", "a100"), {"mask_mod"}) == "");
  CHECK(missing(stage("ir", "a100"), {"define", "@mask_mod"}) == "");
  CHECK(missing(stage("facts", "a100"), {"mask"}) == "");
  CHECK(missing(stage("derive", "a100"), {"; d score_mod / d score: 1, no code"}) == "");
  CHECK(without_start(stage("plan", "a100"), "sm80 q_outer tile_q=") == "");
  CHECK(missing(stage("source", "a100"), {"extern \"C\""}) == "");
  CHECK(missing(stage("source", "host"), {"define"}) == "");
  CHECK(missing(stage("ptx", "host"), {".text"}) == "");
  CHECK(facet({"emit", causal(), "--stage", "plan", "--gpu", "a100", "-o", folder.file("plan.txt")})
            .out.empty());
  CHECK(read_file(folder.file("plan.txt")) == stage("plan", "a100"));
  CHECK(facet({"emit", causal(), "-o", folder.file("none/x.cu"), "--gpu", "a100"}).status == 1);
}

TEST_CASE("bench times sizes and plans, and writes JSON that says how") {
  const TemporaryFolder folder;
  const auto result =
      facet({"bench", causal(), source_path("specs/alibi.fa"), "--device", "host", "--head-dim", "16",
             "--q-len", "33,64", "--heads", "2", "--time", "1", "--verify", "--json", folder.file("b.json")});
  CHECK(result.status == 0);
  CHECK(missing(result.out, {"causal", "alibi", "N33", "verified"}) == "");
  const json report = json::parse(read_file(folder.file("b.json")));
  CHECK(report["results"].size() == 4);
  CHECK(missing(report["command"].get<std::string>(), {"bench", "--verify"}) == "");
  for (const char* key : {"date", "versions", "device", "layout"}) CHECK(report.contains(key));
  const json& line = report["results"][0];
  // Causal over 33 keys keeps 33 * 34 / 2 of 33 * 33 scores; 2 heads, 2 products of 16, 2 FLOPs each.
  CHECK(line["flops"] == 2.0 * 2 * 2 * 16 * (33 * 34 / 2));
  CHECK(line["flops_counted"] == "the scores kept");
  CHECK(line["verified"] == true);
  CHECK(line["time_ms"]["runs"] >= 5);

  const auto plans = facet({"bench", causal(), "--device", "host", "--head-dim", "16", "--q-len", "32",
                            "--heads", "1", "--time", "1", "--plans", "all", "--every-score", "--json", "-"});
  CHECK(plans.status == 0);
  const json timed = json::parse(plans.out)["results"];
  REQUIRE(timed.size() >= 1);
  CHECK(timed[0]["flops"] == 2.0 * 2 * 16 * 32 * 32);
  CHECK(timed[0]["flops_counted"] == "every score");

  const auto before = facet({"bench", "--device", "host", "--time", "1", "--q-len", "8,9", causal()});
  CHECK(before.status == 0);  // a list of lengths does not swallow the spec after it
  CHECK(facet({"bench", causal(), "--plans", "all", "--plan", "tile_q=64"}).status == 2);
  CHECK(facet({"bench", causal(), "--q-len", "1,2,3", "--kv-len", "1,2"}).status == 2);
}

TEST_CASE("cache shows, lists and empties what runs have kept") {
  CHECK(facet({"cache", "clear"}).status == 0);
  CHECK(facet(run({causal()}, {"--repeat", "1"})).status == 0);
  const json stats = json::parse(facet({"cache", "--json"}).out);
  CHECK(stats["entries"] == 1);
  CHECK(stats["bytes"] > 0);
  CHECK(missing(facet({"cache", "list"}).out, {"causal bf16 d16 host"}) == "");
  CHECK(first_line(facet({"cache", "path"}).out) == stats["folder"].get<std::string>());
  CHECK(missing(facet({"cache", "stats"}).out, {"entries  1"}) == "");
  CHECK(facet({"cache", "clear"}).out == "removed 1 entry\n");
  CHECK(json::parse(facet({"cache", "--json"}).out)["entries"] == 0);
  CHECK(facet({"cache", "burn"}).status == 2);
}

TEST_CASE("numbers on the command line are whole, and in their range", "[tools]") {
  const auto says = [](const std::vector<std::string>& more) {
    const auto result = facet(run({causal()}, more));
    CHECK(result.status == 2);
    return first_line(result.err);
  };
  CHECK(says({"--kv-len", "0"}) ==
        "facet: error: --kv-len: it is '0', it must be a whole number of at least 1, below 2^31");
  CHECK(says({"--seed", "-1"}) ==
        "facet: error: --seed: it is '-1', it must be a whole number of at least 0, below 2^64");
  CHECK(says({"--seed", "18446744073709551616"}) ==
        "facet: error: --seed: it is '18446744073709551616', it must be a whole number of at least 0, below "
        "2^64");
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
  const auto result = facet({"check", longer, large, causal()});
  CHECK(result.status == 0);
  CHECK(missing(result.out, {"ok " + longer, "ok " + large, "ok " + causal()}) == "");
}

TEST_CASE("--verify says what it cannot hold a kernel to, and does not fail for it", "[tools]") {
  const TemporaryFolder folder;
  const std::string begin =
      "define i1 @mask_mod(i32 %b, i32 %h, i32 %q, i32 %k) {\n%early = icmp slt i32 %k, 30\n";
  const auto verified = [&](const std::string& name, const std::string& body) {
    std::ofstream(folder.file(name + ".ll")) << begin << body;
    std::ofstream(folder.file(name + ".fa")) << "attention t\nmask_mod from \"" << name << ".ll\"\n";
    const auto result = facet(run({folder.file(name + ".fa")}, {"--verify"}));
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
  const auto masked = facet(run({causal()}, {"--verify", "--v", folder.file("v.npy")}));
  CHECK(masked.status == 0);
  CHECK(missing(masked.out, {"verify     ok: 140 of 140 rows",
                             "elements of o are NaN, and may be: v holds a NaN or an infinity"}) == "");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these map terabytes
TEST_CASE("a process that gets no memory says so and ends with status 1", "[tools]") {
  // Each limit hits another allocation: of the loader at first, of LLVM's globals, the spec's, the
  // analysis's.
  int refused = 0;
  bool is_started = false;  // below some limit the system cannot even map the program
  for (int mebibytes = 30; mebibytes < 64; ++mebibytes) {
    const std::string command =
        "ulimit -v " + std::to_string(mebibytes * 1024) + "; exec \"$0\" check \"$1\"";
    const auto result = run_program("/bin/sh", {"-c", command, program_path("facet"), causal()});
    INFO(mebibytes << " MiB: " << result.status << " " << result.err);
    const bool by_loader = result.status == 127;
    is_started |= by_loader || result.err.starts_with("facet: error");
    if (!is_started) continue;
    const bool by_facet = result.status == 1 && result.err.starts_with("facet: error: out of memory");
    refused += by_facet;
    CHECK((by_loader || by_facet || result.status == 0));
  }
  CHECK(refused > 0);
}
#endif
