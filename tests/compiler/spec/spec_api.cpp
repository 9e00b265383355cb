// fa::Spec from text, files and parts; other head dims and types; the text of findings.
#include "fa/spec.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "compiler/spec/spec.h"
#include "tests/catch.h"

namespace {

std::string first_error(const fa::SpecParts& parts) {
  try {
    fa::Spec::build(parts);
  } catch (const fa::SpecError& error) {
    const std::string text = error.diagnostics().at(0).render();
    return text.substr(0, text.find('\n'));
  }
  return "no error";
}

std::string load_error(const std::string& path) {
  try {
    fa::Spec::load(path);
  } catch (const fa::SpecError& error) {
    return error.diagnostics().at(0).message;
  }
  return "no error";
}

fa::SpecParts alibi() {
  fa::SpecParts parts;
  parts.name = "alibi";
  parts.head_dim = 64;
  parts.dtype = fa::DType::f16;
  parts.params = {{.name = "window", .default_value = std::int32_t{-7}},
                  {.name = "gain", .default_value = 0.1f}};
  parts.tensors = {{.name = "slopes",
                    .dtype = fa::DType::f32,
                    .extents = {"num_q_heads", "2*window+1"},
                    .example = "i0*1.5"}};
  parts.lets = {{.name = "d", .value = "q_idx-kv_idx"}};
  parts.score_mod = "score + slopes[h, 0]*(d)*gain";
  parts.mask_mod = "d>=0 and\n d<window";
  parts.dropout = 0.25;
  return parts;
}

}  // namespace

TEST_CASE("a spec from parts is the spec of its text", "[spec][build]") {
  const fa::Spec spec = fa::Spec::build(alibi());
  CHECK(spec.text() ==
        "attention alibi\n"
        "head_dim 64\n"
        "dtype f16\n"
        "scale 1 / sqrt(head_dim)\n"
        "param window : i32 = -7\n"
        "param gain : f32 = 0.1\n"
        "tensor slopes : f32[num_q_heads, 2 * window + 1] = i0 * 1.5\n"
        "let d = q_idx - kv_idx\n"
        "score_mod = score + slopes[h, 0] * d * gain\n"
        "mask_mod = d >= 0 and d < window\n"
        "dropout 0.25\n");
  CHECK(fa::Spec::parse(spec.text()).text() == spec.text());
  CHECK(std::get<float>(spec.params()[1].default_value) == 0.1f);
  CHECK(spec.tensors().at(0).extents == std::vector<std::string>{"num_q_heads", "2 * window + 1"});
  CHECK(spec.has_dropout());
  CHECK(fa::Spec::build({}).text() == fa::Spec::parse("attention attention").text());
}

TEST_CASE("params keep their value to the bit", "[spec][build]") {
  for (const float value :
       {0.1f, 1e-45f, 3.4028235e38f, -0.0f, 16777217.0f, 1.0f / 3, 1e10f, 1e-10f,
        std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    fa::SpecParts parts;
    parts.params = {{.name = "x", .default_value = value}};
    const float back = std::get<float>(fa::Spec::build(parts).params().at(0).default_value);
    CHECK(back == value);
    CHECK(std::signbit(back) == std::signbit(value));
  }
  fa::SpecParts parts;
  parts.params = {{.name = "x", .default_value = std::numeric_limits<std::int32_t>::min()}};
  CHECK(std::get<std::int32_t>(fa::Spec::build(parts).params().at(0).default_value) ==
        std::numeric_limits<std::int32_t>::min());
}

TEST_CASE("no part brings a second item along", "[spec][build]") {
  fa::SpecParts parts;
  SECTION("in the name") {
    parts.name = "a\ndropout 0.5";
    CHECK(first_error(parts) ==
          "<attention>: error: 'a?dropout 0.5' is not a name: letters, digits and '_', at most 64 of them");
  }
  SECTION("in an expression") {
    parts.mask_mod = "q_idx > 3\ndropout 0.5";
    CHECK(first_error(parts) == "<mask_mod>:2:1: error: an expression is one logical line");
  }
  SECTION("behind a comment") {
    parts.tensors = {{.name = "t", .dtype = fa::DType::f32, .extents = {"4] #"}, .example = ""}};
    CHECK(first_error(parts) ==
          "<tensor t>:1:2: error: expected an operator or the end of the line, found ']'");
  }
  SECTION("out of the brackets") {
    parts.tensors = {{.name = "t", .dtype = fa::DType::f32, .extents = {"4] = t[0"}, .example = ""}};
    CHECK(first_error(parts) ==
          "<tensor t>:1:2: error: expected an operator or the end of the line, found ']'");
  }
  SECTION("in a param's name") {
    parts.params = {{.name = "x : i32 = 1 #", .default_value = 1}};
    CHECK(first_error(parts) ==
          "<param>: error: 'x : i32 = 1 #' is not a name: letters, digits and '_', at most 64 of them");
  }
  SECTION("nor is a number what is none") {
    parts.params = {{.name = "x", .default_value = std::nanf("")}};
    CHECK(first_error(parts) == "<param x>: error: the default is not a number");
  }
  SECTION("nor a dropout") {
    parts.dropout = std::nan("");
    CHECK(first_error(parts) == "<dropout>: error: dropout is not a number");
  }
  SECTION("nor an empty let") {
    parts.lets = {{.name = "x", .value = ""}};
    CHECK(first_error(parts) == "<let x>:1:1: error: expected an expression, found nothing");
  }
  SECTION("nor a tensor without extents") {
    parts.tensors = {{.name = "t", .dtype = fa::DType::f32, .extents = {}, .example = ""}};
    CHECK(first_error(parts) ==
          "<tensor t>: error: a tensor has at least one dimension; a single number is a param");
  }
  SECTION("and the checker sees the text") {
    parts.head_dim = 100;
    CHECK(first_error(parts) ==
          "<attention>:2:10: error: head_dim is 100; it must be a multiple of 8 from 8 to 256");
  }
}

TEST_CASE("another head_dim", "[spec]") {
  const fa::Spec spec =
      fa::Spec::parse("attention a\nhead_dim 128\nlet d = head_dim * 2\nmask_mod = d > q_idx\n", "f");
  const fa::Spec other = spec.with_head_dim(64);
  CHECK(other.head_dim() == 64);
  CHECK(other.head_dim_v() == 64);
  CHECK(other.checked().scale == 0.125);
  CHECK(other.checked().mask_mod->args[0]->int_value == 128);
  CHECK(other.checked().mask_mod->line == 4);  // places stay those of the file
  CHECK(spec.head_dim() == 128);
  CHECK(spec.with_head_dim(64, 32).head_dim_v() == 32);
  CHECK(spec.with_head_dim(64).with_head_dim(96).head_dim_v() == 96);
  CHECK(spec.with_head_dim(64, 32).with_head_dim(96).head_dim_v() == 32);
  CHECK(spec.with_head_dim(0, 32).head_dim() == 128);
  CHECK(spec.with_head_dim(0).text() == spec.text());
  CHECK(fa::Spec::parse(other.text()).text() == other.text());
  CHECK(fa::Spec::parse("attention a\nhead_dim 128\nhead_dim_v 64").with_head_dim(32).head_dim_v() == 64);
  CHECK(fa::Spec::parse("attention a").with_head_dim(256).head_dim() == 256);
  for (const int bad : {-8, 7, 264, std::numeric_limits<int>::min()})
    CHECK_THROWS_AS(spec.with_head_dim(bad), fa::SpecError);
  try {
    spec.with_head_dim(100);
  } catch (const fa::SpecError& error) {
    CHECK(std::string(error.what()) == "f: error: head_dim is 100; it must be a multiple of 8 from 8 to 256");
  }
}

TEST_CASE("another dtype", "[spec]") {
  const fa::Spec spec = fa::Spec::parse("attention a");
  CHECK(spec.dtype() == fa::DType::bf16);
  CHECK(spec.with_dtype(fa::DType::f32).dtype() == fa::DType::f32);
  CHECK(spec.with_dtype(fa::DType::f32).with_dtype(fa::DType::f16).text() ==
        fa::Spec::parse("attention a\ndtype f16").text());
  CHECK_THROWS_AS(spec.with_dtype(fa::DType::i8), fa::SpecError);
}

TEST_CASE("files", "[spec]") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "facet_spec_api_test";
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  };
  CHECK(fa::Spec::load(write("ok.fa", "attention ok")).name() == "ok");
  CHECK(load_error(write("empty.fa", "")) == "the spec is empty");
  CHECK(load_error((folder / "none.fa").string()) == "cannot read the file: No such file or directory");
  CHECK(load_error(folder.string()) == "cannot read the file: Is a directory");
  CHECK(load_error(write("long.fa", std::string(100000, '#'))) ==
        "the file is longer than the 65536 bytes a spec may have");
  CHECK_THROWS_AS(fa::Spec::parse(std::string(100000, ' ')), fa::SpecError);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a finding shows the line, a caret and the remedy", "[spec][error]") {
  const fa::Diagnostic finding{.place = {.file = "x.fa", .line = 3, .column = 5},
                               .message = "no",
                               .remedy = "yes",
                               .source_line =
                                   "\ta b\xc3\xa9"
                                   "cd e",
                               .length = 3};
  CHECK(finding.render() ==
        "x.fa:3:5: error: no\n   3 | \ta b\xc3\xa9"
        "cd e\n     | \t   ^~~\nhelp: yes\n");
  fa::Diagnostic warning{
      .severity = fa::Diagnostic::Severity::warning, .place = {.file = "x.fa"}, .message = "hm"};
  CHECK(warning.render() == "x.fa: warning: hm\n");
}

TEST_CASE("later stages point into the spec, too", "[spec][error]") {
  const fa::Spec spec = fa::Spec::parse("attention a\nmask_mod = q_idx > 3", "f");
  const fa::Diagnostic warning = fa::warning_at(spec.checked(), 2, 18, "hm");
  CHECK(warning.render() == "f:2:18: warning: hm\n   2 | mask_mod = q_idx > 3\n     |                  ^\n");
  // A number without a place in the text has no line to show.
  CHECK(fa::warning_at(spec.checked(), 0, 0, "hm").render() == "f: warning: hm\n");
}

TEST_CASE("a very long line is shown around the caret", "[spec][error]") {
  std::string what;
  try {
    fa::Spec::parse("attention a\nmask_mod = q_idx > 0 " + std::string(3000, ' ') + "and nonesuch" +
                    std::string(3000, ' ') + " > 1");
  } catch (const fa::SpecError& error) {
    what = error.what();
  }
  CHECK(what.size() < 500);
  const std::size_t text =
      what.find("nonesuch\n") == std::string::npos ? what.find("nonesuch", 60) : std::string::npos;
  REQUIRE(text != std::string::npos);
  const std::size_t line_begin = what.rfind('\n', text) + 1;
  const std::size_t mark_begin = what.find('\n', text) + 1;
  CHECK(what.substr(mark_begin + (text - line_begin), 8) == "^~~~~~~~");
}

TEST_CASE("control characters never reach the terminal", "[spec][error]") {
  try {
    fa::Spec::parse(std::string("attention a\nmask_mod = \x1b[31m q_idx \x07\xc2\x9b > 1\n"));
  } catch (const fa::SpecError& error) {
    for (const char c : std::string(error.what()))
      CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
    CHECK(std::string(error.what()).find('\x9b') == std::string::npos);
    CHECK(std::string(error.what()).substr(0, 40) == "<spec>:2:12: error: unexpected byte 0x1b");
  }
}
