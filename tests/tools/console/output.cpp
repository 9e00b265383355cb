// Results written to files, links, pipes and devices.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>

#include "tests/catch.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"
#include "tools/problem/npy.h"

using namespace fa;
using namespace fa::tools;

namespace {

namespace fs = std::filesystem;

/// A small run, to which a script appends where its results go.
const std::string kRun =
    "\"$FACET\" run \"$SPECS\"/causal.fa --device host --q-len 300 --heads 2 --head-dim 16 --repeat 1 ";

/// A device that works like /dev/null or /dev/full. Root gets a node of its own in `folder`: a bug here must
/// not destroy the machine's /dev/null. Empty where even root may make none.
std::string device(const TemporaryFolder& folder, const std::string& name, unsigned minor) {
  if (geteuid() != 0) return "/dev/" + name;
  if (mknod(folder.file(name).c_str(), S_IFCHR | 0666, makedev(1, minor)) == 0) return folder.file(name);
  tests::skip("device nodes cannot be made here");
  return {};
}

/// Runs `script` in `folder`.
CommandResult in_folder(const TemporaryFolder& folder, const std::string& script) {
  return shell("cd '" + folder.file("") + "' && " + script);
}

bool is_whole_output(const std::string& path) {
  return read_npy(path, "o", DType::f32, {1, 2, 300, 16}).elements() == 2 * 300 * 16;
}

int files_in(const TemporaryFolder& folder) {
  const fs::directory_iterator files(folder.file(""));
  return static_cast<int>(std::distance(begin(files), end(files)));
}

}  // namespace

TEST_CASE("a device stays one, and takes what is written to it", "[tools][output]") {
  const TemporaryFolder folder;
  const std::string null = device(folder, "null", 3), full = device(folder, "full", 7);
  if (null.empty() || full.empty()) return;  // `device` said why
  for (const std::string& option : {"--out " + null, "--lse " + null, "--out " + null + " --lse " + null}) {
    CHECK(shell(kRun + option).status == 0);
    CHECK(fs::is_character_file(null));
  }
  for (const std::string& command :
       {"emit \"$SPECS\"/causal.fa --gpu a100 -o " + null,
        "explain \"$SPECS\"/causal.fa --tiles --map " + null,
        "run \"$SPECS\"/causal.fa --device host --q-len 64 --repeat 1 --json " + null,
        "check \"$SPECS\"/causal.fa --json " + null}) {
    INFO(command);
    CHECK(shell("\"$FACET\" " + command).status == 0);
    CHECK(fs::is_character_file(null));
  }

  const auto refused = shell(kRun + "--out " + full);
  CHECK(refused.status == 1);
  CHECK(first_line(refused.err) == "facet: error: " + full + ": cannot be written: No space left on device");
  CHECK(fs::is_character_file(full));
}

TEST_CASE("a pipe is written into", "[tools][output]") {
  const TemporaryFolder folder;
  const auto result =
      in_folder(folder, "mkfifo p && { timeout 60 cat p > got & } && " + kRun + "--out p && wait");
  CHECK(result.status == 0);
  CHECK(fs::is_fifo(folder.file("p")));
  CHECK(is_whole_output(folder.file("got")));
  CHECK(in_folder(folder, kRun + "--out >(cat > got2) && sleep 1").status == 0);
  CHECK(is_whole_output(folder.file("got2")));
  CHECK(in_folder(folder, "{ timeout 60 cat p > got_lse & } && " + kRun + "--lse p --out o && wait").status ==
        0);
  CHECK(fs::is_fifo(folder.file("p")));
  CHECK(read_npy(folder.file("got_lse"), "lse", DType::f32, {1, 2, 300}).elements() == 2 * 300);

  const auto left =
      in_folder(folder,
                "{ timeout 60 head -c 100 p > /dev/null & } && \"$FACET\" run \"$SPECS\"/full.fa "
                "--device host --q-len 30000 --kv-len 16 --repeat 1 --out p; status=$?; wait; exit $status");
  CHECK(left.status == 1);
  CHECK(first_line(left.err) == "facet: error: p: cannot be written: Broken pipe");
}

TEST_CASE("stdout by its name is stdout, wherever it goes", "[tools][output]") {
  const TemporaryFolder folder;
  const auto result = in_folder(folder,
                                "echo before > out; \"$FACET\" emit \"$SPECS\"/causal.fa --gpu a100 "
                                "--stage plan -o /dev/stdout >> out && echo after >> out");
  CHECK(result.status == 0);
  const std::string text = read_file(folder.file("out"));
  CHECK(without_start(text, "before\nsm80 q_outer ") == "");
  CHECK(text.ends_with("\nafter\n"));
}

TEST_CASE("a link stays one, and what it names is replaced", "[tools][output]") {
  const TemporaryFolder folder;
  CHECK(in_folder(folder, "mkdir a && echo old > a/target && ln -s a/target link && ln -s link second && " +
                              kRun + "--out second")
            .status == 0);
  CHECK(fs::read_symlink(folder.file("link")) == "a/target");
  CHECK(fs::read_symlink(folder.file("second")) == "link");
  CHECK(is_whole_output(folder.file("a/target")));
  // A link may name a file that is not there yet.
  CHECK(in_folder(folder, "ln -s a/new dangling && " + kRun + "--out dangling").status == 0);
  CHECK(fs::is_symlink(folder.file("dangling")));
  CHECK(is_whole_output(folder.file("a/new")));
  const auto circle = in_folder(folder, "ln -s y x && ln -s x y && " + kRun + "--out x");
  CHECK(circle.status == 1);
  CHECK(first_line(circle.err) == "facet: error: x: cannot be written: Too many levels of symbolic links");
}

TEST_CASE("a replaced file keeps its permissions, and a protected one its contents", "[tools][output]") {
  const TemporaryFolder folder;
  CHECK(in_folder(folder, "touch o && chmod 0640 o && " + kRun + "--out o").status == 0);
  CHECK(is_whole_output(folder.file("o")));
  CHECK(fs::status(folder.file("o")).permissions() == fs::perms(0640));
  if (geteuid() == 0) return;  // root may write anything
  const auto kept = in_folder(folder, "echo kept > p && chmod 0444 p && " + kRun + "--out p");
  CHECK(first_line(kept.err) == "facet: error: p: cannot be written: Permission denied");
  CHECK(read_file(folder.file("p")) == "kept\n");
}

TEST_CASE("runs that write one file at once each write all of it", "[tools][output]") {
  const TemporaryFolder folder;
  const auto result =
      in_folder(folder, "for i in 1 2 3 4 5 6 7 8 9 10; do " + kRun +
                            "--out o --lse l > /dev/null & pids+=($!); done; lost=0; "
                            "for pid in ${pids[@]}; do wait $pid || lost=1; done; exit $lost");
  CHECK(result.status == 0);
  CHECK(result.err == "");
  CHECK(is_whole_output(folder.file("o")));
  CHECK(files_in(folder) == 2);
}

TEST_CASE("bundles in devices, pipes and links, and by several commands at once",
          "[tools][output][bundle][nvrtc]") {
  if (tests::skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const std::string build = "\"$FACET\" build \"$SPECS\"/full.fa --arch sm_80 --dtype f16 --head-dim 64 ";
  const CommandResult built = in_folder(folder, build + "-o good && mkfifo p && mkdir a && ln -s a/b link");
  INFO(built.out << built.err);
  REQUIRE(built.status == 0);
  const auto is_good = [&](const std::string& name) {
    return in_folder(folder, "cmp good " + name).status == 0;  // what is built twice is the same
  };
  CHECK(in_folder(folder, "{ timeout 60 cat p > got & } && " + build + "-o p && wait").status == 0);
  CHECK(fs::is_fifo(folder.file("p")));
  CHECK(is_good("got"));
  CHECK(in_folder(folder, build + "-o link").status == 0);
  CHECK(fs::read_symlink(folder.file("link")) == "a/b");
  CHECK(is_good("a/b"));
  if (const std::string null = device(folder, "null", 3); !null.empty()) {
    CHECK(in_folder(folder, build + "-o " + null).status == 0);
    CHECK(fs::is_character_file(null));
  }
  CHECK(in_folder(folder, "mkdir many; for i in 1 2 3 4; do " + build +
                              "-o many/x > /dev/null & pids+=($!); done; lost=0; "
                              "for pid in ${pids[@]}; do wait $pid || lost=1; done; exit $lost")
            .status == 0);
  CHECK(is_good("many/x"));
  CHECK(std::distance(fs::directory_iterator(folder.file("many")), fs::directory_iterator{}) == 1);
}

TEST_CASE("an output may replace the file that an input was read from", "[tools][output]") {
  const TemporaryFolder folder;
  CHECK(in_folder(folder, kRun + "--out x && cp x first && ln -s x link && " + kRun +
                              "--q x --verify --out apart && " + kRun +
                              "--q x --k link --verify --out y && " + kRun +
                              "--q x --out link && cmp x apart")
            .status == 0);
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(in_folder(folder, "cp first x && " + kRun + "--q x --k x --out x && cmp x y && ! cmp -s x apart")
            .status == 0);
}

TEST_CASE("a file that is replaced keeps its mode, and its owner where that may be said", "[tools][output]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("x", "old");
  constexpr uid_t kOther = 65534;
  const uid_t owner = geteuid() == 0 ? kOther : geteuid();
  REQUIRE(chown(path.c_str(), owner, getegid()) == 0);
  REQUIRE(chmod(path.c_str(), 0640) == 0);
  CHECK(in_folder(folder, kRun + "--out x").status == 0);
  CHECK(is_whole_output(path));
  struct stat status = {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK(status.st_uid == owner);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("no output replaces what the spec is read from", "[tools][output]") {
  const TemporaryFolder folder;
  for (const char* name : {"causal.fa", "bigbird.fa", "bigbird.ll"})
    fs::copy_file(source_path(std::string("specs/") + name), folder.file(name));
  const std::string before = read_file(folder.file("causal.fa")), hook = read_file(folder.file("bigbird.ll"));
  const std::string size = " --device host --q-len 16 --heads 1 --head-dim 16 --repeat 1 ";
  for (const std::string& command :
       {"run causal.fa --out ./causal.fa" + size, "run bigbird.fa --lse bigbird.ll" + size,
        "run bigbird.fa --json=bigbird.ll" + size, std::string("emit causal.fa -o causal.fa"),
        std::string("explain causal.fa --tiles --gpu a100 --q-len 64 --map causal.fa"),
        std::string("build causal.fa --arch sm_80 -o causal.fa")}) {
    const auto result = in_folder(folder, "\"$FACET\" " + command);
    INFO(command << ": " << result.err);
    CHECK(result.status == 2);
    CHECK(missing(result.err, {"which the spec is read from"}) == "");
  }
  CHECK(read_file(folder.file("causal.fa")) == before);
  CHECK(read_file(folder.file("bigbird.ll")) == hook);
  const auto minus = in_folder(folder, kRun + "--out -");
  CHECK(minus.status == 2);
  CHECK(missing(minus.err, {"/dev/stdout", "./-"}) == "");
}

TEST_CASE("two outputs need two files", "[tools][output]") {
  const TemporaryFolder folder;
  const auto same = in_folder(folder, kRun + "--out x --lse x");
  CHECK(same.status == 2);
  CHECK(first_line(same.err) == "facet: error: --out and --lse both name x: each needs a file of its own");
  CHECK(in_folder(folder, "mkfifo p && " + kRun + "--out p --lse ./p").status == 2);
  CHECK(in_folder(folder, "ln -s x link && " + kRun + "--out ./x --lse link").status == 2);
  CHECK(in_folder(folder, "touch x && " + kRun + "--out link --lse \"$PWD\"/x").status == 2);
  CHECK(read_file(folder.file("x")) == "");
}

TEST_CASE("a file beyond the size limit is a plain error, and nothing is left of it", "[tools][output]") {
  const TemporaryFolder folder;
  const auto result = in_folder(folder, "echo old > o; ulimit -f 8; " + kRun + "--no-cache --out o");
  CHECK(result.status == 1);
  CHECK(first_line(result.err) ==
        "facet: error: o: cannot be written: the process' file size limit (ulimit -f) is smaller than the "
        "file");
  CHECK(read_file(folder.file("o")) == "old\n");
  CHECK(files_in(folder) == 1);
  // stdout is such a file, too.
  const auto printed =
      in_folder(folder, "ulimit -f 1; \"$FACET\" emit \"$SPECS\"/causal.fa --gpu a100 > source");
  CHECK(printed.status == 1);
  CHECK(first_line(printed.err) == "facet: error: stdout: cannot be written: File too large");
}
