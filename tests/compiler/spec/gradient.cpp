// The word `grad`: where it may stand, what it means, and what it leaves alone. Refusals: tests/error/grad_*.
#include <string>

#include "compiler/compile.h"
#include "fa/error.h"
#include "fa/spec.h"
#include "tests/catch.h"

using namespace fa;

namespace {

constexpr const char* kItems =
    "attention a\n"
    "tensor slopes : f16[num_q_heads] = 0.5 * i0 grad\n"
    "tensor bias : f32[q_len]    grad   # a comment\n"
    "tensor ids : i32[kv_len]\n"
    "param tau : f32 = -1.5 grad\n"
    "param n : i32 = 3\n"
    "score_mod = score * tau - slopes[h] * ids[kv_idx] + bias[q_idx]\n";

}  // namespace

TEST_CASE("grad is part of the canonical text, which reads back to the same", "[spec][derive]") {
  const Spec spec = Spec::parse(kItems);
  CHECK(spec.text().find("param tau : f32 = -1.5 grad\n") != std::string::npos);
  CHECK(spec.text().find("tensor slopes : f16[num_q_heads] = 0.5 * i0 grad\n") != std::string::npos);
  CHECK(spec.text().find("tensor bias : f32[q_len] grad\n") != std::string::npos);
  CHECK(Spec::parse(spec.text()).text() == spec.text());
  CHECK(spec.with_dtype(DType::f32).with_head_dim(64).tensors()[1].grad);
  CHECK(spec.params()[0].grad);
  CHECK_FALSE(spec.params()[1].grad);
  CHECK(spec.tensors()[0].grad);
  CHECK_FALSE(spec.tensors()[2].grad);
}

TEST_CASE("a spec of parts may ask for gradients", "[spec][derive]") {
  SpecParts parts;
  parts.params = {{.name = "tau", .default_value = 2.0F, .grad = true}};
  parts.tensors = {
      {.name = "t", .dtype = DType::f32, .extents = {"kv_len"}, .example = "f32(i0)", .grad = true}};
  parts.score_mod = "score * tau + t[kv_idx]";
  const Spec spec = Spec::build(parts);
  CHECK(spec.params()[0].grad);
  CHECK(spec.tensors()[0].grad);
}

TEST_CASE("grad is a name everywhere else", "[spec][derive]") {
  const Spec spec = Spec::parse("attention grad\nparam grad : f32 = 1.0 grad\nscore_mod = score * grad\n");
  CHECK(spec.params()[0].name == "grad");
  CHECK(spec.params()[0].grad);
}

TEST_CASE("a param that only the sink uses is reached", "[spec][derive]") {
  CHECK_NOTHROW(Spec::parse("attention a\nparam s : f32 = 1.0 grad\nsink s * s\n"));
}

TEST_CASE("forward kernels are the same with and without gradients", "[spec][derive]") {
  std::string without = kItems;
  for (std::size_t at; (at = without.find(" grad")) != std::string::npos;) without.erase(at, 5);
  const Target& target = find_target("a100");
  const Compiled with_gradients = compile_front_end(Spec::parse(kItems).checked(), target);
  const Compiled forward_only = compile_front_end(Spec::parse(without).checked(), target);
  CHECK(with_gradients.source->text == forward_only.source->text);
  CHECK(with_gradients.print_ir() == forward_only.print_ir());
  CHECK_FALSE(with_gradients.derivatives);
  CHECK(
      compile_front_end(Spec::parse(kItems).checked(), target, {}, Passes::forward_and_backward).derivatives);
}
