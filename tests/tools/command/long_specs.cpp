// Specs as long as the language allows, made of chains of one operator or function: every command ends within
// seconds of processor time, with a result or with an error that names a line.
#include <fmt/format.h>
#include <cmath>
#include <functional>

#include "tests/catch.h"
#include "tests/processor_time.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa::tools;

namespace {

// Each took 7 to 11 s before there were bounds on what is derived and compiled, and takes 0.4 to 1.4 s now.
#ifdef FA_SANITIZED
constexpr bool kIsSanitized = true;
constexpr int kMostSeconds = 60;
constexpr int kStackKiB = 8192;
#else
constexpr bool kIsSanitized = false;
constexpr int kMostSeconds = 5;
constexpr int kStackKiB = 1024;  // what a thread of a program may have
#endif

constexpr const char* kHead =
    "attention long\nhead_dim 64\ndtype f32\nparam p : i32 = 3\nparam f : f32 = 1.5\n"
    "tensor t : i32[kv_len] = i0 / 3\n";

/// `part` of each of 0 to count - 1, one after another.
std::string chain(int count, const std::function<std::string(int)>& part) {
  std::string all;
  for (int i = 0; i < count; ++i) all += part(i);
  return all;
}

std::string repeated(int count, const std::string& text) {
  return chain(count, [&](int) { return text; });
}

/// Each let uses the last as `step` says ("X"), the mask the last of all.
std::string lets(int count, const std::string& first, const std::string& step, const std::string& mask) {
  const auto put = [](std::string text, const std::string& name) {
    for (std::size_t at = 0; (at = text.find('X', at)) != text.npos;) text.replace(at, 1, name);
    return text;
  };
  return "let x0 = " + first + "\n" +
         chain(
             count,
             [&](int i) { return fmt::format("let x{} = {}\n", i + 1, put(step, fmt::format("x{}", i))); }) +
         "mask_mod = " + put(mask, fmt::format("x{}", count)) + "\n";
}

/// Runs a command on a spec, with that many seconds of processor time and that stack. Returns what was wrong,
/// or an empty text.
std::string trouble(const std::string& body, const std::string& command, int most_seconds = kMostSeconds) {
  const TemporaryFolder folder;
  const std::string spec = folder.write("long.fa", kHead + body);
  const CommandResult result =
      shell(fmt::format("ulimit -t {}; ulimit -s {}; set -- {}; exec \"$FACET\" \"$1\" {} \"${{@:2}}\"",
                        most_seconds, kStackKiB, command, spec));
  const bool is_done = result.status == 0;
  const bool is_refused = result.status == 2 && result.err.find("long.fa:") != std::string::npos;
  const bool is_bug = result.err.find("a bug in facet") != std::string::npos;
  return (is_done || is_refused) && !is_bug ? "" : fmt::format("status {}: {}", result.status, result.err);
}

/// How many seconds a long spec may take where NVRTC takes most of a short one's: a multiple of these, whatever the CPU.
int most_seconds_beside(const std::string& short_body, const std::string& command) {
  constexpr double kTimes = 3;  // it takes 1.0 to 1.8 times as long
  const double before = fa::tests::processor_seconds(RUSAGE_CHILDREN);
  REQUIRE(trouble(short_body, command, 10 * kMostSeconds) == "");
  const double of_short = fa::tests::processor_seconds(RUSAGE_CHILDREN) - before;
  return kIsSanitized ? kMostSeconds : static_cast<int>(std::ceil(kTimes * of_short));
}

constexpr const char* kCommands[] = {"check", "explain --tiles --q-len 256 --gpu a100", "emit --gpu h200",
                                     "run --device host --q-len 64 --heads 2 --repeat 1"};

}  // namespace

TEST_CASE("masks whose tile classes would be longer than any use are checked in seconds", "[tools][long]") {
  const std::string both = "kv_idx" + repeated(380, " / p") + " == q_idx" + repeated(380, " / p");
  CHECK(trouble("mask_mod = " + both + "\n", "check") == "");
  CHECK(trouble(lets(150, "q_idx >= kv_idx", "(X and q_idx > p) == (X or kv_idx > p)", "X"), "check") == "");
  CHECK(trouble(lets(380, "q_idx + kv_idx", "X / X", "X <= kv_idx"), "check") == "");
  CHECK(trouble("mask_mod = " + repeated(380, "(") + "(q_idx >= kv_idx)" +
                    chain(380, [](int i) { return fmt::format(" == (q_idx > {}))", i); }) + "\n",
                "check") == "");
  CHECK(
      trouble(
          "mask_mod = true" +
              chain(380, [](int i) { return fmt::format(" and t[kv_idx] / {0} == t[q_idx] / {0}", i + 1); }) +
              "\n",
          "check") == "");
}

TEST_CASE("host kernels of long hooks are compiled in seconds, and compute what the spec says",
          "[tools][long]") {
  const std::string run = "run --device host --q-len 64 --heads 2 --repeat 1";
  // LLVM took 39 s for 380 inlined functions, and 95 s for vector divisions that it took apart.
  const std::string of_both = "f + q_idx - kv_idx";
  CHECK(trouble(fmt::format("mask_mod = {}{}{} > 0.25\n", repeated(380, "erf("), of_both, repeated(380, ")")),
                run) == "");
  const auto by = [](int count, const std::string& what) { return repeated(count, " / " + what); };
  CHECK(trouble(fmt::format("mask_mod = kv_idx{0} == q_idx{0}\n", by(380, "q_len")), run) == "");
  // Functions that are called instead of inlined, exact functions, and unsigned numbers in vectors.
  const std::string mixed =
      repeated(20, "exp(0.5 * sin(tanh(") + "score - 0.01 * q_idx" + repeated(20, ")))");
  CHECK(trouble("score_mod = score + " + mixed + "\n", run + " --verify") == "");
  const std::string exact = repeated(20, "log(2.0 + exp(0.5 * sin(") + of_both + repeated(20, ")))");
  CHECK(trouble("mask_mod = " + exact + " > 1.25 or q_idx == kv_idx\n", run + " --verify") == "");
  CHECK(trouble("mask_mod = (q_idx * 1000) / (kv_idx + 1) % (kv_idx + 7) < 5 or q_idx == kv_idx\n",
                run + " --verify") == "");
}

TEST_CASE("long hooks are PTX in seconds", "[tools][long][nvrtc]") {
  if (fa::tests::skip_without_nvrtc()) return;
  // 40 nested tanh(sin) took 37 s.
  const std::string body =
      "score_mod = score + " + repeated(40, "tanh(sin(") + "0.01 * score" + repeated(40, "))") + "\n";
  for (const char* gpu : {"a100", "h100"})
    for (const char* dtype : {"bf16", "f32"}) {
      const std::string command = fmt::format("emit --stage ptx --gpu {} --dtype {}", gpu, dtype);
      const int most_seconds = most_seconds_beside("score_mod = score + tanh(sin(0.01 * score))\n", command);
      CHECK(trouble(body, command, most_seconds) == "");
    }
}

TEST_CASE("derivatives of long hooks end in seconds and in little stack", "[tools][long]") {
  const std::string head = "param g : f32 = 0.5 grad\ntensor w : f32[kv_len] = 0.01 * i0 grad\n";
  const auto steps = [&](int count, const std::string& step) {
    const std::string all = lets(count, "score * w[kv_idx]", step, "true");
    return head + all.substr(0, all.find("mask_mod")) + fmt::format("score_mod = g * x{}\n", count);
  };
  std::vector<std::string> bodies;
  for (const char* op : {" * g", " / g", " + w[kv_idx]", " * w[kv_idx]", " + score * g"})
    bodies.push_back(head + "score_mod = w[0] + g * score" + repeated(380, op) + "\n");
  for (const char* step : {"X + X", "0.5 * (X - -X)", "X * X", "X / X + X", "max(X, 0.1) + min(X, 0.2)"})
    bodies.push_back(steps(64, step));
  for (const char* step : {"X ** g", "where(X > f, X * g, 0.0)", "1.5 * (-X)", "gelu(X)", "clamp(X, -g, g)"})
    bodies.push_back(steps(190, step));
  bodies.push_back(head + "score_mod = score + sum(i < 40: w[i] * g" + repeated(370, " * (g + score)") +
                   ")\n");
  std::function<std::string(int)> tree = [&](int count) {
    return count == 1 ? "score * g" : fmt::format("({} + {})", tree(count / 2), tree(count - count / 2));
  };
  bodies.push_back(head + "score_mod = w[0] + " + tree(4000) + "\n");
  bodies.push_back(head + "score_mod = g * score" +
                   chain(380, [](int i) { return fmt::format(" * w[{}]", i); }) + "\n");
  for (const std::string& body : bodies) {
    INFO("..." << body.substr(head.size(), 400));
    CHECK(trouble(body, "emit --stage derive") == "");
  }
}

TEST_CASE("what is longer than the language takes is an error with its line", "[tools][long]") {
  for (const char* body : {"mask_mod = {}q_idx >= kv_idx{}\n", "score_mod = {}score{}\n"})
    for (const char* command : kCommands) {
      const std::string text = fmt::format(fmt::runtime(body), repeated(500, "("), repeated(500, ")"));
      CHECK(trouble(text, command) == "");
    }
}

TEST_CASE("long chains of every operator and function end in seconds", "[tools][long][slow]") {
  std::vector<std::string> bodies;
  for (const char* op : {"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"}) {
    bodies.push_back(fmt::format("mask_mod = (q_idx{}) <= kv_idx\n",
                                 repeated(190, fmt::format(" {} p {} kv_idx", op, op))));
    bodies.push_back(
        lets(150, "q_idx + kv_idx", fmt::format("(X {} kv_idx) + (X {} p)", op, op), "X <= kv_idx"));
    bodies.push_back(lets(150, "kv_idx", fmt::format("min(X {} 3, X {} p)", op, op), "t[X] > 3"));
  }
  for (const char* op : {"+", "-", "*", "/"}) {
    bodies.push_back("score_mod = score" + repeated(380, fmt::format(" {} (f + q_idx - kv_idx)", op)) + "\n");
    bodies.push_back(
        lets(150, "f32(q_idx)", fmt::format("where(X > 0.5, X {} f, X {} kv_idx)", op, op), "X > f"));
  }
  for (const char* name :
       {"abs", "exp", "log", "tanh", "sin", "floor", "sqrt", "erf", "gelu", "i32", "-", "not"}) {
    const bool is_not = std::string_view(name) == "not";
    const std::string open = repeated(150, fmt::format("{} (", name)), close = repeated(150, ")");
    bodies.push_back(is_not ? fmt::format("mask_mod = {}q_idx > kv_idx{}\n", open, close)
                            : fmt::format("mask_mod = {}f + q_idx - kv_idx{} > p\n", open, close));
    if (!is_not) bodies.push_back(fmt::format("score_mod = score + {}score + kv_idx{}\n", open, close));
  }
  for (const char* name : {"min", "max", "pow", "atan2"})
    bodies.push_back(lets(150, "q_idx", fmt::format("{}(X + 1, X - kv_idx)", name), "X > kv_idx"));
  for (const char* op : {"and", "or"})
    bodies.push_back("mask_mod = q_idx > 3" +
                     chain(380, [&](int i) { return fmt::format(" {} kv_idx % {} != q_idx", op, i + 1); }) +
                     "\n");
  for (const char* by : {"q_idx", "kv_idx - q_idx", "t[kv_idx]", "h"})
    bodies.push_back("score_mod = score * " +
                     chain(380, [&](int i) { return fmt::format("where({} > {}, {}.5, ", by, i, i); }) + "f" +
                     repeated(380, ")") + "\n");
  for (const std::string& body : bodies)
    for (const char* command : kCommands) {
      INFO(command << " of\n" << body.substr(0, 400));
      CHECK(trouble(body, command) == "");
    }
}
