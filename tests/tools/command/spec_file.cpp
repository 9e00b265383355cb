// A spec from standard input, in every place where a command takes a spec's file.
#include "tools/command/spec_file.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa::tools;
using nlohmann::json;

namespace {

constexpr const char* kSmall = " --device host --head-dim 16 --heads 1 ";

/// Runs "$FACET" `words` with the shipped causal spec as its standard input.
CommandResult with_causal(const std::string& words) {
  return shell("\"$FACET\" " + words + " < \"$SPECS\"/causal.fa");
}

}  // namespace

TEST_CASE("- is standard input for every command that takes a spec", "[tools]") {
  const auto check = with_causal("check -");
  CHECK(check.err == "");
  CHECK(check.out == "ok <stdin>: causal, head_dim 128, bf16\n");
  const auto emit = with_causal("emit - --stage plan --gpu a100");
  CHECK(emit.status == 0);
  CHECK(emit.out == facet({"emit", source_path("specs/causal.fa"), "--stage", "plan", "--gpu", "a100"}).out);
  CHECK(missing(with_causal("explain - --gpu a100").out, {"causal  bf16, head_dim 128, for a100"}) == "");
  const auto run = with_causal("run - --json --repeat 1 --q-len 40" + std::string(kSmall));
  CHECK(run.err == "");
  CHECK(json::parse(run.out)["spec"]["file"] == "<stdin>");
  const auto bench = with_causal("bench \"$SPECS\"/full.fa - --q-len 40 --time 1" + std::string(kSmall));
  CHECK(bench.err == "");
  CHECK(missing(bench.out, {"\nfull ", "\ncausal "}) == "");
  // The spec is loaded for every head_dim, but standard input is read once.
  const auto build = with_causal("build - --arch sm_75 --head-dim 64,128 -o /none/");
  CHECK(missing(build.err, {"<stdin>: error: dtype bf16 is more than t4 has"}) == "");
}

TEST_CASE("findings in a spec from standard input have their line", "[tools]") {
  const auto bad =
      shell("printf 'attention bad\\nhead_dim 64\\nmask_mod = q_idx >= kv\\n' | \"$FACET\" check -");
  CHECK(bad.status == 2);
  CHECK(first_line(bad.err) == "<stdin>:3:21: error: unknown name 'kv'; did you mean 'kv_idx'?");
  const auto twice = shell("printf 'attention t\\n' | \"$FACET\" check - -");
  CHECK(twice.out == "ok <stdin>: t, head_dim 128, bf16\nok <stdin>: t, head_dim 128, bf16\n");
  const auto large = shell("yes '# a comment' | head -c 2000000 | \"$FACET\" check -");
  CHECK(large.status == 2);
  CHECK(without_start(large.err, "<stdin>: error: standard input is longer than the ") == "");
}

TEST_CASE("a hook's file is then found from the working directory", "[tools]") {
  const TemporaryFolder folder;
  folder.write(
      "m.ll",
      "define i1 @mask_mod(i32 %b, i32 %h, i32 %q, i32 %k) {\n%c = icmp sle i32 %k, %q\nret i1 %c\n}\n");
  const std::string spec = "printf 'attention t\\nmask_mod from \"m.ll\"\\n' | ";
  CHECK(shell("cd '" + folder.file("") + "' && " + spec + "\"$FACET\" check -").status == 0);
  const auto elsewhere = shell("cd / && " + spec + "\"$FACET\" check -");
  CHECK(elsewhere.status == 2);
  CHECK(missing(elsewhere.err,
                {"<stdin>:2:15: error: cannot read 'm.ll'", "relative to the working directory"}) == "");
}

TEST_CASE("a standard input that cannot be read is an error with a remedy", "[tools]") {
  for (const char* source : {"<&-", "</"}) {
    const auto refused = shell(std::string("\"$FACET\" check - ") + source);
    CHECK(refused.status == 2);
    CHECK(without_start(refused.err, "<stdin>: error: cannot read standard input: ") == "");
    CHECK(missing(refused.err, {"help: send the spec's text there, or name a file instead of -"}) == "");
  }
}
