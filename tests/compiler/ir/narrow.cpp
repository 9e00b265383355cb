// What is computed in 32 bits instead of 64, and what must not be. (The property tests of tile_class.cpp show
// that classes stay right.)
#include "compiler/ir/range/narrow.h"

#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/reading.h"
#include "compiler/ir/simplify.h"
#include "tests/catch.h"

namespace {

/// The body after narrowing, as text.
std::string narrowed(const std::string& body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      "declare i64 @llvm.smax.i64(i64, i64)\n"
      "declare i32 @llvm.fptosi.sat.i32.f32(float)\n"
      "define i1 @f(i32 range(i32 0, 16777216) %q_lo, i32 range(i32 0, 16777216) %kv_lo, "
      "i32 range(i32 1, 16777217) %kv_len, i32 %p) {\n"
      "  %q = sext i32 %q_lo to i64\n  %kv = sext i32 %kv_lo to i64\n"
      "  %n = sext i32 %kv_len to i64\n  %x = sext i32 %p to i64\n" +
          body + "}\n",
      error, context);
  INFO(error.getMessage().str());
  REQUIRE(module != nullptr);
  llvm::Function& function = *module->getFunction("f");
  fa::narrow_integers(function);
  fa::simplify(function);
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const llvm::Instruction& instruction : function.getEntryBlock()) stream << instruction << "\n";
  return text;
}

bool is_small(const std::string& body) { return narrowed(body).find("i64") == std::string::npos; }

}  // namespace

TEST_CASE("narrow: indices and lengths are added, subtracted and divided in 32 bits", "[ir]") {
  CHECK(is_small("  %s = sub i64 %q, %kv\n  %t = add i64 %s, %n\n  %r = icmp sge i64 %t, 5\n  ret i1 %r\n"));
  CHECK(is_small("  %s = sdiv i64 %q, %n\n  %r = icmp eq i64 %s, %kv\n  ret i1 %r\n"));
  CHECK(is_small("  %s = sdiv i64 %q, %x\n  %r = icmp eq i64 %s, %kv\n  ret i1 %r\n"));
  CHECK(is_small("  %s = sdiv i64 %q, 64\n  %t = mul i64 %s, 64\n  %r = icmp eq i64 %t, %kv\n  ret i1 %r\n"));
  CHECK(is_small("  %s = ashr i64 %q, 40\n  %t = xor i64 %s, %x\n  %r = icmp slt i64 %t, 0\n  ret i1 %r\n"));
}

TEST_CASE("narrow: floats are made of 32 bits, and give numbers of the range that a call states", "[ir]") {
  CHECK(
      is_small("  %s = sub i64 %q, %kv\n  %f = sitofp i64 %s to float\n"
               "  %r = fcmp olt float %f, 5.0\n  ret i1 %r\n"));
  CHECK_FALSE(
      is_small("  %s = add i64 %x, %q\n  %f = sitofp i64 %s to float\n"
               "  %r = fcmp olt float %f, 5.0\n  ret i1 %r\n"));
  const auto truncated = [](const std::string& range) {
    return "  %f = sitofp i32 %p to float\n  %i = call " + range +
           "i32 @llvm.fptosi.sat.i32.f32(float %f)\n  %w = sext i32 %i to i64\n  %s = add i64 %w, %q\n"
           "  %r = icmp sge i64 %s, 5\n  ret i1 %r\n";
  };
  CHECK(is_small(truncated("range(i32 -40, 41) ")));
  CHECK_FALSE(is_small(truncated("")));
}

TEST_CASE("narrow: a whole part is no larger than what it is a part of", "[ir]") {
  CHECK(
      is_small("  %s = sdiv i64 %q, %x\n  %t = mul i64 %s, %x\n  %d = sub i64 %q, %t\n"
               "  %r = icmp eq i64 %d, %kv\n  ret i1 %r\n"));
  CHECK_FALSE(
      is_small("  %s = sdiv i64 %q, %x\n  %t = mul i64 %s, %n\n  %r = icmp sge i64 %t, %kv\n  ret i1 %r\n"));
}

TEST_CASE("narrow: a difference against 0 is a comparison, whatever its range", "[ir]") {
  CHECK(is_small("  %s = sub i64 %x, %q\n  %r = icmp sle i64 %s, 0\n  ret i1 %r\n"));
  CHECK(
      is_small("  %m = mul nsw i64 %q, -1\n  %s = add i64 %x, %m\n  %r = icmp sle i64 %s, 0\n  ret i1 %r\n"));
  // Not against another number, nor as unsigned numbers.
  CHECK_FALSE(is_small("  %s = sub i64 %x, %q\n  %r = icmp sle i64 %s, 1\n  ret i1 %r\n"));
  CHECK_FALSE(is_small("  %s = sub i64 %x, %q\n  %r = icmp ugt i64 %s, 0\n  ret i1 %r\n"));
}

TEST_CASE("narrow: what may leave 32 bits stays in 64", "[ir]") {
  CHECK_FALSE(is_small("  %s = add i64 %x, %q\n  %r = icmp sge i64 %s, 5\n  ret i1 %r\n"));
  CHECK_FALSE(is_small("  %s = mul i64 %q, %n\n  %r = icmp sge i64 %s, 5\n  ret i1 %r\n"));
  // -2^31 / -1
  CHECK_FALSE(is_small("  %s = sdiv i64 %x, -1\n  %r = icmp sge i64 %s, 5\n  ret i1 %r\n"));
  CHECK(is_small("  %s = sdiv i64 %x, -2\n  %r = icmp sge i64 %s, 5\n  ret i1 %r\n"));
}

TEST_CASE("narrow: the magnitude of a number up to 2^31 divides as an unsigned number", "[ir]") {
  const std::string text = narrowed(
      "  %o = sub i64 0, %x\n  %m = call i64 @llvm.smax.i64(i64 %x, i64 %o)\n"
      "  %s = sdiv i64 %q, %m\n  %r = icmp eq i64 %s, %kv\n  ret i1 %r\n");
  CHECK(text.find("udiv i32") != std::string::npos);
  CHECK(text.find("sdiv") == std::string::npos);
}
