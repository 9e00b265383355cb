// examples/train: a model that learns through Facet's backward pass on the host.
#include <string>

#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa::tools;

namespace {

const std::string kText = source_path("docs/spec_language.md");

/// The two numbers after `label` in what the example printed: the loss of plain attention, and that with the bias.
std::pair<double, double> losses(const std::string& out, const std::string& label) {
  const std::size_t at = out.find("\n" + label);
  REQUIRE(at != std::string::npos);
  std::size_t used = 0;
  const std::string rest = out.substr(at + 1 + label.size());
  const double plain = std::stod(rest, &used);
  return {plain, std::stod(rest.substr(used))};
}

}  // namespace

TEST_CASE("the training example's gradients are those of its loss", "[tools][examples][slow]") {
  const CommandResult checked = run_program("train", {kText, "--check"});
  CHECK(checked.err == "");
  CHECK(checked.status == 0);
  CHECK(checked.out.find("gradients of all parameters: within ") == 0);
}

TEST_CASE("the training example learns, and more with a learned bias", "[tools][examples][slow]") {
  const TemporaryFolder folder;
  const std::string svg = folder.file("curves.svg");
  const CommandResult trained = run_program("train", {kText, "--steps", "300", "--svg", svg});
  CHECK(trained.err == "");
  REQUIRE(trained.status == 0);
  const auto [plain_first, bias_first] = losses(trained.out, "    50");
  const auto [plain, bias] = losses(trained.out, "   300");
  CHECK(plain < plain_first - 0.2);
  CHECK(bias < bias_first - 0.2);
  const auto [plain_held_out, bias_held_out] = losses(trained.out, "held out");
  CHECK(bias_held_out < plain_held_out - 0.02);
  CHECK(missing(trained.out, {"loss in nats a character", "1 plain", "2 learned bias", "  head 1  "}) == "");
  CHECK(missing(fa::tools::read_file(svg), {"<svg ", "<polyline ", "learned bias</text>", "</svg>"}) == "");
}

TEST_CASE("the training example says what it cannot use", "[tools][examples]") {
  const TemporaryFolder folder;
  const std::string shorter = folder.write("short.txt", std::string(500, 'a'));
  const CommandResult refused = run_program("train", {shorter});
  CHECK(refused.status == 2);
  CHECK(refused.err == "train: the text has 500 bytes; give at least 10240\n");
  const std::string empty = folder.write("empty.txt", "");
  CHECK(run_program("train", {empty}).err == "train: cannot read " + empty + ", or it is empty\n");
  CHECK(run_program("train", {folder.file("none.txt")}).status != 0);
  CHECK(run_program("train", {kText, "--steps", "0"}).status != 0);
}
