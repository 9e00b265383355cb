// The share of tiles that a mask leaves, and the predicted time.
#include "tools/tiles/tile_share.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/tools/command/command.h"

using namespace fa;
using namespace fa::tools;
using nlohmann::json;

namespace {

Spec shipped(const char* name) { return Spec::load(source_path(std::string("specs/") + name + ".fa")); }

ProblemInputs inputs_of(int q_len, int kv_len) {
  ProblemInputs inputs;
  inputs.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 4, .q_len = q_len, .kv_len = kv_len};
  return inputs;
}

std::optional<double> share(const char* name, int length) {
  return share_of_tiles(shipped(name), inputs_of(length, length), 128, 64);
}

json explained(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"explain", "--gpu", "a100", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return json::parse(facet(words).out);
}

}  // namespace

TEST_CASE("the share of tiles is what the walk visits", "[tools]") {
  CHECK(share("full", 4096) == 1);
  // Row i of 32 x 64 tiles of 128 x 64 keeps the first 2 i + 2.
  CHECK(share("causal", 4096) == (2.0 * 32 * 33 / 2) / (32 * 64));
  const json with_tiles = explained({source_path("specs/document.fa"), "--tiles", "--q-len", "2048"});
  CHECK(with_tiles["share_of_tiles"] ==
        explained({source_path("specs/document.fa"), "--q-len", "2048"})["share_of_tiles"]);
  CHECK(with_tiles["share_of_tiles"] == 72.0 / 512);
  CHECK(share("causal", 1 << 22) == std::nullopt);  // too many tiles
  CHECK(share("document", 1 << 20) == std::nullopt);
}

TEST_CASE("small tiles tell what is left of tiles of every size", "[tools]") {
  for (const char* name :
       {"full", "causal", "sliding_window", "bigbird", "document", "neighbourhood_2d", "dilated"})
    for (const auto& [q_len, kv_len] : {std::pair{1024, 1024}, {1000, 777}, {1, 500}, {15, 3}}) {
      const Spec spec = shipped(name);
      const ProblemInputs inputs = inputs_of(q_len, kv_len);
      const auto shares = SharesBySize::count(spec, inputs);
      REQUIRE(shares);
      for (const auto& [tile_q, tile_kv] : {std::pair{16, 16}, {128, 64}, {64, 128}, {48, 80}, {192, 112}}) {
        CAPTURE(name, q_len, kv_len, tile_q, tile_kv);
        CHECK(shares->of(tile_q, tile_kv) == share_of_tiles(spec, inputs, tile_q, tile_kv));
      }
    }
  CHECK(!SharesBySize::count(shipped("causal"), inputs_of(1 << 20, 1 << 20)));  // too many tiles
}

TEST_CASE("predicted times are those of the tiles that are left, and say so", "[tools]") {
  const json document = explained({source_path("specs/document.fa"), "--q-len", "4096", "--heads", "16"});
  const double predicted = document["predicted_ms"], dense = document["predicted_dense_ms"];
  const double left = document["share_of_tiles"];
  CHECK(left < 0.2);
  CHECK(predicted < 1.5 * left * dense);
  CHECK(predicted > left * dense);  // a CTA that has few tiles starts and ends all the same
  const auto says = [](std::vector<std::string> words) {
    words.insert(words.begin(), "explain");
    words.insert(words.end(), {"--gpu", "a100"});
    return facet(words).out;
  };
  CHECK(missing(says({source_path("specs/document.fa"), "--q-len", "2048"}),
                {"for the 14.06% of tiles that the mask leaves, of the example tensors; for every tile ",
                 "us, for every score\n"}) == "");
  CHECK(missing(says({source_path("specs/causal.fa")}),
                {"% of tiles that the mask leaves; for every tile "}) == "");
  const std::string full = says({source_path("specs/full.fa")});
  CHECK(full.find("for every") == std::string::npos);
  CHECK(missing(says({source_path("specs/causal.fa"), "--q-len", "2000000"}),
                {"for every tile: counting those that the mask leaves would take long (--tiles does)"}) ==
        "");
  const json unmasked = explained({source_path("specs/full.fa"), "--q-len", "4096"});
  CHECK(unmasked["predicted_ms"] == unmasked["predicted_dense_ms"]);
  CHECK(unmasked["share_of_tiles"] == 1.0);
}
