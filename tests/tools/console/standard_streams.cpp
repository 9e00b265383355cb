// The command's output arrives, or its exit status says that it did not.
#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa::tools;

namespace {

const std::string kShortRun =
    "\"$FACET\" run \"$SPECS\"/causal.fa --device host --q-len 70 --heads 2 --head-dim 16 --repeat 1 ";
const std::string kEmit = "\"$FACET\" emit \"$SPECS\"/causal.fa --gpu a100 ";

/// A command of each kind that prints.
const std::vector<std::string> kPrinting = {
    kShortRun,
    kShortRun + "--json",
    "\"$FACET\" check \"$SPECS\"/causal.fa",
    "\"$FACET\" check --json \"$SPECS\"/causal.fa",
    "\"$FACET\" explain \"$SPECS\"/causal.fa --gpu a100",
    kEmit,
    "\"$FACET\" bench \"$SPECS\"/causal.fa --device host --head-dim 16 --q-len 33 --heads 1 --time 1",
    "\"$FACET\" cache",
    "\"$FACET\" cache list --json",
    "\"$FACET\" cache path",
    "\"$FACET\" --version",
    "\"$FACET\" --help",
    "\"$FACET\" run --help"};

}  // namespace

TEST_CASE("a full or closed stdout is an error", "[tools][streams]") {
  for (const std::string& command : kPrinting) {
    INFO(command);
    const auto full = shell(command + " >/dev/full");
    CHECK(full.status == 1);
    CHECK(without_start(first_line(full.err), "facet: error: stdout: cannot be written") == "");
    const auto closed = shell(command + " >&-");
    CHECK(closed.status == 1);
    CHECK(without_start(first_line(closed.err), "facet: error: stdout: cannot be written") == "");
  }
  CHECK(first_line(shell("\"$FACET\" cache >/dev/full").err) ==
        "facet: error: stdout: cannot be written: No space left on device");
}

TEST_CASE("a full stdout costs no result that goes elsewhere", "[tools][streams]") {
  const TemporaryFolder folder;
  CHECK(shell(kShortRun + "--out '" + folder.file("o") + "' >/dev/full").status == 1);
  CHECK(read_file(folder.file("o")).size() == 128 + 2 * 70 * 16 * 4);
  CHECK(shell("\"$FACET\" bench \"$SPECS\"/*.fa --device host --head-dim 16 --q-len 9,10,11 --heads 1 --time "
              "1 --json '" +
              folder.file("b") + "' >/dev/full")
            .status == 1);
  CHECK(missing(read_file(folder.file("b")), {"\"t5_bias\""}) == "");
  // A command that prints nothing loses nothing.
  CHECK(shell(kEmit + "-o '" + folder.file("e") + "' >&-").status == 0);
}

TEST_CASE("a full or closed stderr keeps the status, and what cannot be said is never a success",
          "[tools][streams]") {
  const TemporaryFolder folder;
  const std::string unused = folder.write("unused.fa", "attention t\nhead_dim 64\nparam window : i32 = 4\n");
  const std::string broken = folder.write("broken.fa", "attention\n");
  for (const std::string target : {"2>/dev/full", "2>&-"}) {
    INFO(target);
    CHECK(shell("\"$FACET\" check '" + broken + "' " + target).status == 2);
    CHECK(shell("\"$FACET\" frobnicate " + target).status == 2);
    CHECK(shell("\"$FACET\" " + target).status == 2);
    CHECK(shell(kShortRun + "--out /none/o " + target).status == 1);
    CHECK(shell("\"$FACET\" check '" + unused + "' " + target).status == 1);  // a warning is lost
    CHECK(shell("\"$FACET\" check \"$SPECS\"/causal.fa " + target).status == 0);
    CHECK(shell("\"$FACET\" cache >/dev/full " + target).status == 1);
  }
}

TEST_CASE("a closed descriptor is no file's that is opened later", "[tools][streams]") {
  const TemporaryFolder folder;
  const std::string unused = folder.write(
      "unused.fa", "attention t\nhead_dim 16\nparam window : i32 = 4\nmask_mod = q_idx >= kv_idx\n");
  const auto result =
      shell("\"$FACET\" run '" + unused + "' --device host --q-len 70 --heads 2 --repeat 1 --out '" +
            folder.file("o") + "' <&- >&- 2>&-");
  CHECK(result.status == 1);
  CHECK(read_file(folder.file("o")).size() == 128 + 2 * 70 * 16 * 4);
}

TEST_CASE("a reader that leaves is no crash and needs no message", "[tools][streams]") {
  for (const std::string& command :
       {kEmit, std::string("\"$FACET\" --version"), std::string("\"$FACET\" cache")}) {
    INFO(command);
    // The pipe is closed before the command writes, whatever its signals were set to.
    for (const std::string signals : {"", "trap '' PIPE; "}) {
      const auto result = shell(signals + "{ sleep 0.3; " + command + "; echo $? >&2; } | true");
      CHECK(result.err == "1\n");
    }
  }
}
