// Which tensors a mask reads, in the specs that ship: hooks written in a spec, and imported ones.
#include "compiler/analysis/mask_tensors.h"

#include "tests/catch.h"
#include "tests/golden.h"

using namespace fa;

TEST_CASE("the tensors that a mask reads are told from those of the score", "[analysis]") {
  const auto of = [](const char* name) {
    const Spec spec = Spec::load(test::spec_path(name));
    return mask_tensors(spec.checked(), lower(spec.checked()));
  };
  CHECK(of("document") == std::vector<std::string>{"document_id"});
  CHECK(of("prefix_lm") == std::vector<std::string>{"prefix_len"});
  CHECK(of("tree") == std::vector<std::string>{"ancestors"});
  CHECK(of("sliding_window_alibi").empty());  // its score reads slopes
  CHECK(of("kerple").empty());                // both hooks are imported; the score's reads two tensors
  CHECK(of("relative_bias").empty());         // has no mask
}
