// Arithmetic of imported hooks against an interpreter of the file itself: every operation on integers at its
// edges, narrow and wide ones, floats with NaN and infinities.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/spec/spec.h"
#include "tests/catch.h"
#include "tests/compiler/ir/random_hooks.h"
#include "tests/runtime/system/temporary.h"

namespace {

using namespace fa;
using namespace fa::test;
using tests::TemporaryFolder;
using tests::write_file;

/// A mask whose values at kv_idx = 0..31 are the bits of %r, an i32 that `body` computes from @x and @y.
std::string bits_of(const std::string& body, const std::string& declarations) {
  return "@x = external constant i32\n@y = external constant i32\n" + declarations +
         "define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {\n"
         "  %x = load i32, ptr @x\n  %y = load i32, ptr @y\n" +
         body + "  %bit = lshr i32 %r, %kv_idx\n  %low = trunc i32 %bit to i1\n  ret i1 %low\n}\n";
}

constexpr int kEdges[] = {0,           1,   2,     3,     7,      31,         32,         100,
                          255,         256, 65535, 65536, 999983, 0x40000000, 0x7fffffff, -2147483647 - 1,
                          -2147483647, -1,  -2,    -7,    -128,   -129,       -32768,     -65537,
                          0x12345678};

void check_bits(const std::string& what, const std::string& text, const TemporaryFolder& folder) {
  INFO(what << "\n" << text);
  write_file(folder / "bits.ll", text);
  const Spec spec =
      Spec::parse("attention t\nhead_dim 64\nparam x : i32 = 0\nparam y : i32 = 0\nmask_mod from \"" +
                  (folder / "bits.ll") + "\"\n");
  const ProblemSize size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 1, .kv_len = 32};
  tools::Problem problem = small_problem(spec, 1, size);
  const HookEval eval(problem, HookEval::Fuse::forbidden);
  for (const int x : kEdges)
    for (const int y : {0, 1, 3, 32, 255, 65536, 0x7fffffff, -2147483647 - 1, -1, -7, -32768}) {
      problem.params = {x, y};
      ReferenceEval reference(problem);
      std::uint32_t got = 0, want = 0;
      for (int kv = 0; kv < 32; ++kv) {
        got |= static_cast<std::uint32_t>(eval.mask({.kv = kv})) << kv;
        want |= static_cast<std::uint32_t>(reference.mask({.kv = kv})) << kv;
      }
      INFO("x " << x << " y " << y);
      REQUIRE(static_cast<std::int32_t>(got) == static_cast<std::int32_t>(want));
    }
}

}  // namespace

TEST_CASE("operations on integers are exact at every edge", "[import]") {
  const TemporaryFolder folder;
  for (const char* operation : {"add", "sub", "mul", "sdiv", "srem", "udiv", "urem", "and", "or", "xor"})
    check_bits(operation, bits_of(fmt::format("  %r = {} i32 %x, %y\n", operation), ""), folder);
  for (const char* operation : {"shl", "lshr", "ashr"})
    check_bits(operation,
               bits_of(fmt::format("  %s = and i32 %y, 31\n  %r = {} i32 %x, %s\n", operation), ""), folder);
  for (const char* operation : {"shl", "lshr", "ashr", "sdiv", "srem", "udiv", "urem"})
    for (const int by : {1, 5, 31}) {
      check_bits(operation, bits_of(fmt::format("  %r = {} i32 %x, {}\n", operation, by), ""), folder);
    }
  for (const char* predicate : {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
    check_bits(predicate,
               bits_of(fmt::format("  %c = icmp {} i32 %x, %y\n  %r = sext i1 %c to i32\n", predicate), ""),
               folder);
  for (const char* function : {"smin", "smax", "umin", "umax", "usub.sat"})
    check_bits(function,
               bits_of(fmt::format("  %r = call i32 @llvm.{}.i32(i32 %x, i32 %y)\n", function),
                       fmt::format("declare i32 @llvm.{}.i32(i32, i32)\n", function)),
               folder);
  for (const char* function : {"ctlz", "cttz", "abs"})
    check_bits(function,
               bits_of(fmt::format("  %r = call i32 @llvm.{}.i32(i32 %x, i1 false)\n", function),
                       fmt::format("declare i32 @llvm.{}.i32(i32, i1)\n", function)),
               folder);
  check_bits("ctpop",
             bits_of("  %r = call i32 @llvm.ctpop.i32(i32 %x)\n", "declare i32 @llvm.ctpop.i32(i32)\n"),
             folder);
  for (const char* function : {"fshl", "fshr"})
    for (const int by : {0, 1, 13, 31})
      check_bits(function,
                 bits_of(fmt::format("  %r = call i32 @llvm.{}.i32(i32 %x, i32 %y, i32 {})\n", function, by),
                         fmt::format("declare i32 @llvm.{}.i32(i32, i32, i32)\n", function)),
                 folder);
}

TEST_CASE("narrow and wide integers keep their own width", "[import]") {
  const TemporaryFolder folder;
  for (const int width : {2, 8, 16, 24})
    for (const char* operation : {"add", "sub", "mul", "sdiv", "srem", "udiv", "urem", "xor"}) {
      const std::string narrow = fmt::format(
          "  %a = trunc i32 %x to i{0}\n  %b8 = trunc i32 %y to i{0}\n"
          "  %n = {1} i{0} %a, %b8\n",
          width, operation);
      for (const char* widen : {"sext", "zext"})
        check_bits(fmt::format("{} i{} {}", operation, width, widen),
                   bits_of(narrow + fmt::format("  %r = {} i{} %n to i32\n", widen, width), ""), folder);
    }
  // The low half of a product of 64 bits; the whole product where the numbers fit.
  check_bits("low half",
             bits_of("  %a = sext i32 %x to i64\n  %c = zext i32 %y to i64\n  %p = mul i64 %a, %c\n"
                     "  %s = add i64 %p, 5000000000\n  %t = shl i64 %s, 3\n  %r = trunc i64 %t to i32\n",
                     ""),
             folder);
  check_bits("wide sums",
             bits_of("  %f = ashr i32 %x, 8\n  %g = ashr i32 %y, 9\n  %a = sext i32 %f to i64\n  %c = sext "
                     "i32 %g to i64\n"
                     "  %p = sub i64 %a, %c\n  %q = sdiv i64 %p, 3\n  %k = icmp slt i64 %q, %c\n  %t = trunc "
                     "i64 %q to i32\n"
                     "  %r = select i1 %k, i32 %t, i32 %f\n",
                     ""),
             folder);
}

TEST_CASE("floats convert, compare and choose as their file says, NaN and infinities included", "[import]") {
  const TemporaryFolder folder;
  std::string body = "define float @score_mod(float %s, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {\n";
  // Each comparison adds its own power of two, so that no two can be confused.
  const char* predicates[] = {"oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                              "ueq", "ugt", "uge", "ult", "ule", "une", "uno"};
  std::string sum = "0.0";
  int i = 0;
  for (const char* predicate : predicates) {
    body += fmt::format(
        "  %c{0} = fcmp {1} float %s, 1.5\n  %v{0} = select i1 %c{0}, float {2}.0, float 0.0\n"
        "  %t{0} = fadd float {3}, %v{0}\n",
        i, predicate, 1 << i, sum);
    sum = fmt::format("%t{}", i++);
  }
  const auto check = [&](const std::string& text) {
    write_file(folder / "floats.ll", text);
    const Spec spec =
        Spec::parse("attention t\nhead_dim 64\nscore_mod from \"" + (folder / "floats.ll") + "\"\n");
    const ProblemSize size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 1, .kv_len = 1};
    const tools::Problem problem = small_problem(spec, 1, size);
    const HookEval eval(problem, HookEval::Fuse::forbidden);
    ReferenceEval reference(problem);
    const float inf = std::numeric_limits<float>::infinity();
    for (const float score : {0.0f, -0.0f, 1.5f, -1.5f, 2.5f, 255.75f, 300.0f, -300.0f, 3e9f, -3e9f, 5e9f,
                              inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
      INFO(text << "score " << score);
      CHECK(eval.score_mod(score, {}) ==
            static_cast<float>(reference.score_mod(static_cast<double>(score), {})));
    }
  };
  check(body + "  ret float " + sum + "\n}\n");
  const std::string head = "define float @score_mod(float %s, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {\n";
  for (const char* kind : {"fptosi_sat", "fptoui_sat"})
    for (const int width : {8, 16, 32}) {
      std::string name = kind;
      std::replace(name.begin(), name.end(), '_', '.');
      for (const char* back : {"sitofp", "uitofp"})
        check(fmt::format(
            "declare i{0} @llvm.{1}.i{0}.f32(float)\n{2}  %i = call i{0} @llvm.{1}.i{0}.f32(float %s)\n"
            "  %r = {3} i{0} %i to float\n  ret float %r\n}}\n",
            width, name, head, back));
    }
  for (const char* function : {"minnum", "maxnum", "minimum", "maximum"})
    check(fmt::format(
        "declare float @llvm.{0}.f32(float, float)\n{1}  %r = call float @llvm.{0}.f32(float %s, float 1.5)\n"
        "  %k = fcmp uno float %r, %r\n  %z = select i1 %k, float 77.0, float %r\n  ret float %z\n}}\n",
        function, head));
  for (const int classes : {0x3, 0x3fc, 0x204, 0x1fb, 0x1f8, 0x207})
    check(
        fmt::format("declare i1 @llvm.is.fpclass.f32(float, i32)\n{}  %k = call i1 "
                    "@llvm.is.fpclass.f32(float %s, i32 {})\n"
                    "  %z = select i1 %k, float 1.0, float 0.0\n  ret float %z\n}}\n",
                    head, classes));
  for (const char* function : {"floor", "ceil", "trunc", "rint", "roundeven", "nearbyint"})
    check(fmt::format(
        "declare float @llvm.{0}.f32(float)\n{1}  %r = call float @llvm.{0}.f32(float %s)\n"
        "  %k = fcmp uno float %r, %r\n  %z = select i1 %k, float 77.0, float %r\n  ret float %z\n}}\n",
        function, head));
}

TEST_CASE("elements of 64 bits and unsigned bytes are read as their file reads them", "[import]") {
  const TemporaryFolder folder;
  write_file(folder / "wide.ll", R"(
@ids = external constant [0 x i64]
@marks = external constant [0 x i8]
define float @score_mod(float %s, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %k = sext i32 %kv_idx to i64
  %id_at = getelementptr i64, ptr @ids, i64 %k
  %id = load i64, ptr %id_at
  %mark_at = getelementptr i8, ptr @marks, i64 %k
  %mark = load i8, ptr %mark_at
  %large = icmp sgt i64 %id, 3
  %narrow = trunc i64 %id to i32
  %below = icmp ult i8 %mark, 100
  %negative = icmp slt i8 %mark, 0
  %wide = zext i8 %mark to i32
  %signed = sext i8 %mark to i32
  %half = lshr i8 %mark, 1
  %halved = zext i8 %half to i32
  %x0 = add i32 %narrow, %wide
  %x1 = select i1 %large, i32 %x0, i32 %signed
  %x2 = select i1 %below, i32 %x1, i32 %halved
  %x3 = select i1 %negative, i32 %wide, i32 %x2
  %f = sitofp i32 %x3 to float
  %u = uitofp i8 %mark to float
  %sum = fadd float %f, %u
  ret float %sum
}
)");
  const Spec spec = Spec::parse(
      "attention t\nhead_dim 64\ntensor ids : i64[kv_len] = i0 % 9 - 4\n"
      "tensor marks : u8[kv_len] = i0 * 37 % 256\nscore_mod from \"" +
      (folder / "wide.ll") + "\"\n");
  const ProblemSize size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 1, .kv_len = 300};
  const tools::Problem problem = small_problem(spec, 1, size);
  const HookEval eval(problem, HookEval::Fuse::forbidden);
  ReferenceEval reference(problem);
  for (int kv = 0; kv < size.kv_len; ++kv) {
    INFO("kv " << kv);
    CHECK(eval.score_mod(0, {.kv = kv}) == static_cast<float>(reference.score_mod(0, {.kv = kv})));
  }
}
