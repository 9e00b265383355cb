// The canonical text: small cases by hand, then properties over random specs and random noise.
#include "compiler/spec/print.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/spec/check/check.h"
#include "compiler/spec/parse/parser.h"
#include "fa/spec.h"
#include "tests/catch.h"
#include "tests/compiler/spec/random_spec.h"

namespace {

fa::Ast ast_of(const std::string& text) {
  const auto source = std::make_shared<const fa::SourceText>("test", text);
  fa::Findings findings(*source);
  fa::Ast ast = fa::parse_spec(source, findings);
  for (const fa::Diagnostic& error : findings.errors()) FAIL_CHECK(error.render());
  return ast;
}

std::string canonical(const std::string& expr) {
  const fa::SourceText source("test", expr);
  fa::Findings findings(source);
  const fa::AstPtr tree = fa::parse_expression(source, findings);
  REQUIRE(tree);
  return fa::print_expr(*tree);
}

std::vector<std::filesystem::path> spec_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(FA_SOURCE_DIR "/specs")) {
    if (entry.path().extension() == ".fa") files.push_back(entry.path());
  }
  return files;
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A text that is no spec may only cause findings, each with a place inside the text.
void must_not_crash(const std::string& text) {
  try {
    const fa::Spec spec = fa::Spec::parse(text, "noise");
    CHECK(fa::Spec::parse(spec.text()).text() == spec.text());
  } catch (const fa::SpecError& error) {
    REQUIRE_FALSE(error.diagnostics().empty());
    const int lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
    for (const fa::Diagnostic& finding : error.diagnostics()) {
      CHECK_FALSE(finding.message.empty());
      CHECK(finding.message.find('\n') == std::string::npos);
      CHECK(finding.place.line <= lines);
      CHECK_FALSE(finding.render().empty());
    }
  }
}

}  // namespace

TEST_CASE("brackets stand where they are needed", "[spec][print]") {
  CHECK(canonical("((a) + (b * c))") == "a + b * c");
  CHECK(canonical("(a + b) * c") == "(a + b) * c");
  CHECK(canonical("a - (b - c)") == "a - (b - c)");
  CHECK(canonical("(a - b) - c") == "a - b - c");
  CHECK(canonical("a - (b + c)") == "a - (b + c)");
  CHECK(canonical("(a < b) == (c < d)") == "(a < b) == (c < d)");
  CHECK(canonical("not (a and b)") == "not (a and b)");
  CHECK(canonical("(not a) and b") == "not a and b");
  CHECK(canonical("(not a) == b") == "(not a) == b");
  CHECK(canonical("-(-a)") == "--a");
  CHECK(canonical("-(a * b)") == "-(a * b)");
  CHECK(canonical("a or (b or c)") == "a or (b or c)");
  CHECK(canonical("-(x ** 2)") == "-x ** 2");
  CHECK(canonical("(-x) ** 2") == "(-x) ** 2");
  CHECK(canonical("a ** (b ** c)") == "a ** b ** c");
  CHECK(canonical("(a ** b) ** c") == "(a ** b) ** c");
  CHECK(canonical("a ** (-b)") == "a ** -b");
  CHECK(canonical("(a * b) ** (c + d)") == "(a * b) ** (c + d)");
  CHECK(canonical("(a ** b) * c") == "a ** b * c");
}

TEST_CASE("bit operators keep theirs", "[spec][print]") {
  CHECK(canonical("x & x - 1 == 0") == "(x & (x - 1)) == 0");
  CHECK(canonical("a | b | c") == "a | b | c");
  CHECK(canonical("a | b & c") == "a | (b & c)");
  CHECK(canonical("1 << a + b") == "1 << (a + b)");
  CHECK(canonical("~a & b") == "~a & b");
}

TEST_CASE("numbers have one spelling", "[spec][print]") {
  CHECK(canonical("0xff") == "255");
  CHECK(canonical("0b11") == "3");
  CHECK(canonical("1.50") == "1.5");
  CHECK(canonical("2.") == "2.0");
  CHECK(canonical(".5") == "0.5");
  CHECK(canonical("1e3") == "1000.0");
  CHECK(canonical("1e30") == "1e+30");
  CHECK(canonical("0.1") == "0.1");
  CHECK(canonical("inf") == "inf");
  CHECK(canonical("true") == "true");
}

TEST_CASE("canonical order, defaults stated", "[spec][print]") {
  CHECK(fa::Spec::parse(
            "attention a\ndropout .1\nlet x = 1\nparam p : i32 = 3\nmask_mod = p > x + q_idx # no\ndtype f16")
            .text() ==
        "attention a\n"
        "head_dim 128\n"
        "dtype f16\n"
        "scale 1 / sqrt(head_dim)\n"
        "param p : i32 = 3\n"
        "let x = 1\n"
        "mask_mod = p > x + q_idx\n"
        "dropout 0.1\n");
}

TEST_CASE("random specs: print, parse, print is a fixed point and the trees are equal",
          "[spec][print][random]") {
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    INFO("seed " << seed);
    fa::test::RandomSpec random(seed);
    const fa::Ast tree = random.spec();
    const std::string text = fa::print_spec(tree);
    INFO(text);
    const fa::Ast again = ast_of(text);
    REQUIRE(fa::same(tree, again));
    REQUIRE(fa::print_spec(again) == text);
    REQUIRE(fa::same(tree, ast_of(random.noisy(tree))));
  }
}

TEST_CASE("random specs: the checker takes them, and their text means the same", "[spec][check][random]") {
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    INFO("seed " << seed);
    fa::test::RandomSpec random(seed);
    const std::string text = random.noisy(random.spec());
    INFO(text);
    const fa::Spec spec = fa::Spec::parse(text);
    const fa::Spec again = fa::Spec::parse(spec.text());
    REQUIRE(again.text() == spec.text());
    REQUIRE(fa::print_ast(again.checked()) == fa::print_ast(spec.checked()));
  }
}

TEST_CASE("no text crashes the front end", "[spec][random]") {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(std::uniform_int_distribution<std::size_t>(0, 80)(random), '\0');
    for (char& byte : bytes) byte = static_cast<char>(std::uniform_int_distribution<int>(0, 255)(random));
    must_not_crash(i % 2 == 0 ? bytes : "attention a\nmask_mod = " + bytes);
  }
  for (int i = 0; i < 20000; ++i) must_not_crash(fa::test::word_soup(random));
  for (const std::filesystem::path& path : spec_files()) {
    const std::string text = read(path);
    for (int i = 0; i < 300; ++i) must_not_crash(fa::test::mutated(text, random));
  }
}

TEST_CASE("the shipped specs", "[spec]") {
  const std::vector<std::filesystem::path> files = spec_files();
  CHECK(files.size() >= 18);
  for (const std::filesystem::path& path : files) {
    INFO(path.string());
    const fa::Spec spec = fa::Spec::load(path.string());
    CHECK(spec.name() == path.stem().string());
    CHECK(spec.warnings().empty());
    CHECK(spec.head_dim() == 128);
    CHECK(spec.dtype() == fa::DType::bf16);
    CHECK(fa::Spec::parse(spec.text(), path.string()).text() == spec.text());
    CHECK(read(path).starts_with("# "));
    CHECK(read(path).find("\n\n") != std::string::npos);
    for (const int head_dim : {16, 80, 256}) CHECK(spec.with_head_dim(head_dim).head_dim() == head_dim);
  }
}
