// What tuned and predicted plans hold for. Needs NVRTC, no GPU.
#include "runtime/tune/identity.h"

#include "compiler/target/target.h"
#include "tests/catch.h"
#include "tests/skip.h"

using namespace fa;

TEST_CASE("a spec's hash is one, whichever way its head dims were said", "[tune][store]") {
  const Spec spec = Spec::parse("attention a\nhead_dim 64\ndtype f16\nmask_mod = q_idx >= kv_idx\n");
  const std::string hash = spec_hash(spec);
  CHECK(spec_hash(spec.with_head_dim(64)) == hash);
  CHECK(spec_hash(spec.with_head_dim(64, 64)) == hash);
  CHECK(spec_hash(spec.with_head_dim(128).with_head_dim(64).with_dtype(DType::f16)) == hash);
  CHECK(spec_hash(spec.with_head_dim(64, 32)) != hash);
  CHECK(spec_hash(spec.with_head_dim(128)) != hash);
  CHECK(spec_hash(spec.with_dtype(DType::bf16)) != hash);
}

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
