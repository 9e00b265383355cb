// What tuned and predicted plans hold for. Needs NVRTC, no GPU.
#include "runtime/tune/identity.h"

#include "compiler/target/target.h"
#include "tests/catch.h"
#include "tests/skip.h"

using namespace fa;

TEST_CASE("figures of a build hold for the compiler's sources alone, unlike the plan found by them",
          "[tune][nvrtc]") {
  if (tests::skip_without_nvrtc()) return;
  const Spec spec = Spec::parse("attention a\nhead_dim 64\ndtype f16\n");
  const Target& target = find_target("a100");
  const TuneKey plan = predicted_key(spec, target);
  TuneKey build = built_key(spec, target);
  CHECK(build == built_key(spec, target));
  CHECK(build.code != plan.code);
  build.code = plan.code;
  CHECK(build == plan);
}
