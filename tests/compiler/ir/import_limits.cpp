// Files of LLVM IR that would end the process, or take for ever: each is refused at once, with its place.
// Files that are only unusual become hooks.
#include <fmt/format.h>

#include "compiler/ir/import/import.h"
#include "fa/error.h"
#include "tests/catch.h"
#include "tests/import/head.h"

namespace {

using namespace fa;

constexpr const char* kBegin = "define i1 @mask_mod(i32 %b, i32 %h, i32 %q, i32 %k) {\n";
constexpr const char* kEnd = "ret i1 true\n}\n";

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// One line for each i from 0, "{0}" being i and "{1}" the next.
std::string lines(int count, const std::string& line) {
  std::string all;
  for (int i = 0; i < count; ++i) all += fmt::format(fmt::runtime(line), i, i + 1) + "\n";
  return all;
}

/// The message of importing; empty where the file is accepted.
std::string finding(const std::string& text) {
  static const Spec head = Spec::parse(tests::kImportHead, "t.fa");
  CheckedSpec spec = head.checked();
  spec.mask_from = {
      .path = "t.ll", .bytes = std::make_shared<const std::string>(text), .line = 1, .column = 1};
  try {
    import_hooks(spec);
    return {};
  } catch (const SpecError& error) {
    REQUIRE(error.diagnostics().size() == 1);
    CHECK_FALSE(error.diagnostics()[0].remedy.empty());
    return error.diagnostics()[0].message;
  }
}

}  // namespace

TEST_CASE("text that nests too deep for LLVM's parser is refused where it does", "[import]") {
  const std::string hook = std::string(kBegin) + kEnd;
  const auto nested = [&](const std::string& begin, const std::string& open, const std::string& middle,
                          const std::string& close) {
    return begin + times(23'000, open) + middle + times(23'000, close) + "\n" + hook;
  };
  CHECK(finding(nested("@x = external global ", "{", "i32", "}")) ==
        "'t.ll': 1:278: brackets nest more than 256 deep");
  CHECK(finding(nested("@x = constant i64 ", "add (i64 1, i64 ", "1", ")")) ==
        "'t.ll': 1:4119: brackets nest more than 256 deep");
  CHECK(finding(nested("!0 = ", "!{", "", "}")) == "'t.ll': 1:519: brackets nest more than 256 deep");
  CHECK(finding(nested("declare void @f", "(void ", "", ")")) ==
        "'t.ll': 1:1552: brackets nest more than 256 deep");
  // Text that only looks like nesting does not count; a comment ends at a carriage return, as in LLVM.
  const std::string deep = times(300, "(");
  CHECK(finding("; " + deep + "\n" + hook) == "");
  CHECK(finding("@s = constant [300 x i8] c\"" + deep + "\"\n" + hook) == "");
  CHECK(finding("; \r@x = external global " + times(300, "{")) ==
        "'t.ll': 1:281: brackets nest more than 256 deep");
  CHECK(finding("@x = external global " + times(200, "{") + "i32" + times(200, "}") + "\n" + hook) == "");
}

TEST_CASE("text whose parts lead to one another without end is refused", "[import]") {
  const std::string hook = std::string(kBegin) + kEnd;
  CHECK(finding(hook + "!x = !{{!0}}\n" + lines(30'000, "!{0} = !{{!{1}}}")) ==
        "'t.ll': 8196:7: more than 8192 metadata nodes");
  CHECK(finding(hook + times(60'000, "!7=!{}")) == "'t.ll': 4:49155: more than 8192 metadata nodes");
  CHECK(finding(lines(60'000, "%T{0} = type {{ %T{1} }}") + hook) == "'t.ll': 8193:10: more than 8192 types");
  CHECK(finding(lines(60'000, "@a{0} = alias i32, ptr @a{1}") + hook) ==
        "'t.ll': 1025:10: more than 1024 aliases");
}

TEST_CASE("numbers and vectors that LLVM takes apart digit by digit are refused", "[import]") {
  const std::string hook = std::string(kBegin) + kEnd;
  CHECK(finding("@x = constant i32 " + times(3'000'000, "9") + "\n" + hook) ==
        "'t.ll': 1:19: a number has 3000000 characters; at most 128 are taken");
  const auto vector = [](const std::string& type) {
    return std::string(kBegin) + "%v = insertelement " + type +
           " undef, i32 %k, i32 0\n%e = extractelement " + type +
           " %v, i32 0\n%c = icmp eq i32 %e, %q\nret i1 %c\n}\n";
  };
  CHECK(finding(vector("<4000000000 x i32>")) == "'t.ll': 2:21: a vector has more than 1024 elements");
  CHECK(finding(vector("<4000000000x i32>")) == "'t.ll': 2:21: a vector has more than 1024 elements");
  CHECK(finding(vector("<vscale x 1025 x i32>")) == "'t.ll': 2:30: a vector has more than 1024 elements");
  CHECK(finding(vector("<16 x i32>")) == "");
}

TEST_CASE("a value that is used twice over and over is one value", "[import]") {
  const auto chain = [](const std::string& operation, int count) {
    std::string text = kBegin + fmt::format("%x0 = {} i32 %k, %q\n", operation);
    for (int i = 1; i < count; ++i)
      text += fmt::format("%x{} = {} i32 %x{}, %x{}\n", i, operation, i - 1, i - 1);
    return text + fmt::format("%c = icmp eq i32 %x{}, %q\nret i1 %c\n}}\n", count - 1);
  };
  CHECK(finding(chain("mul", 64)) == "");
  CHECK(finding(chain("mul", 300)) == "");
  CHECK(finding(chain("mul", 500)) ==
        "'t.ll': @mask_mod: the result nests 502 operations deep; at most 400 are taken");
  for (const char* operation : {"add", "xor", "and", "or"}) CHECK(finding(chain(operation, 300)) == "");
  // There are thousands of chains here, each with the most operands that are accepted.
  std::string wide = kBegin + std::string("%x0 = mul i32 %k, %q\n");
  for (int i = 1; i < 4000; ++i)
    wide += fmt::format("%x{} = mul i32 %x{}, %x{}\n", i, i < 90 ? i - 1 : 77 + i % 13, i < 78 ? 0 : i - 1);
  CHECK(finding(wide + "%c = icmp eq i32 %x3999, %q\nret i1 %c\n}\n").find("operations deep") !=
        std::string::npos);
}

TEST_CASE("hooks that are long in few instructions are refused", "[import]") {
  const auto choice = [](int cases) {
    return std::string(kBegin) + "switch i32 %k, label %no [\n" + lines(cases, "i32 {0}000, label %yes") +
           "]\nyes:\nret i1 true\nno:\nret i1 false\n}\n";
  };
  CHECK(finding(choice(1000)) == "");
  CHECK(finding(choice(5000)) ==
        "'t.ll': @mask_mod: `switch` has 5000 cases; at most 1024 are taken in a hook");
  CHECK(finding(kBegin + lines(100'000, "%x{0} = xor i32 %k, {0}") + kEnd) ==
        "'t.ll': @mask_mod: 100001 instructions once calls are inlined and loops unrolled; at most 8192 are "
        "taken");
  CHECK(finding(std::string(kBegin) + "br label %l\nl:\n" +
                lines(2000, "%p{0} = phi i32 [ 0, %0 ], [ %p{1}, %l ]") +
                "%p2000 = add i32 %p0, 1\n%c = icmp eq i32 %p0, 5\nbr i1 %c, label %l, label %e\ne:\nret i1 "
                "%c\n}\n") == "'t.ll': @mask_mod: 2000 variables meet at one place; at most 1024 are taken");
}
