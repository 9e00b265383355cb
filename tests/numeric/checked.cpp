// Options::checked: which reads outside a tensor are found, what is said of them, and which do not matter.
#include "runtime/checked.h"

#include "tests/catch.h"
#include "tests/numeric/cases.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr int kLength = 150;

Problem problem_of(const std::string& rest) {
  const Spec spec = Spec::parse(
      "attention t\nhead_dim 32\ndtype f32\n"
      "tensor doc : i32[batch, kv_len] = where(i1 == 130, 99, where(i1 == 140, -5, i1 / 16))\n"
      "tensor bias : f32[num_q_heads, 10] = 0.1 * i1\n" +
      rest);
  ProblemInputs inputs;
  inputs.size = {.batch = 2, .num_q_heads = 2, .num_kv_heads = 1, .q_len = kLength, .kv_len = kLength};
  return make_problem(spec, inputs);
}

Options checked(Device device) {
  Options options = uncached(device);
  options.checked = true;
  return options;
}

/// What a checked kernel says of a call; empty where it computes what an unchecked one does.
std::string finding(const std::string& rest, Device device) {
  const Problem problem = problem_of(rest);
  const Kernel kernel = compile(problem.spec, checked(device));
  try {
    const Outputs outputs = run_forward(kernel, problem);
    const Outputs plain = run_forward(compile(problem.spec, uncached(device)), problem);
    CHECK(outputs.o.bytes == plain.o.bytes);
    CHECK(outputs.lse == plain.lse);
    return {};
  } catch (const ArgumentError& error) {
    return error.what();
  }
}

void check_findings(Device device) {
  const std::string remedy = ": correct the index, or what the call's tensors hold";
  CHECK(
      finding("mask_mod = q_idx >= kv_idx\nscore_mod = score + bias[h, doc[b, kv_idx]]\n", device) ==
      "index 1 of tensor 'bias' is 99, outside its extent at b 0, h 0, q_idx 130, kv_idx 130 (<spec>:7:29)" +
          remedy);
  CHECK(finding("mask_mod = kv_idx == 140\nscore_mod = score + bias[h, doc[b, kv_idx]]\n", device) ==
        "index 1 of tensor 'bias' is -5, outside its extent at b 0, h 0, q_idx 0, kv_idx 140 (<spec>:7:29)" +
            remedy);
  CHECK(finding("mask_mod = b == 0 or h == 0 or doc[b, q_idx + 1] >= 0\n", device) ==
        "index 1 of tensor 'doc' is 150, outside its extent at b 1, h 1, q_idx 149, kv_idx 0 (<spec>:6:45)" +
            remedy);
  CHECK(finding("mask_mod = any(i < 3: doc[b, kv_idx + i] == 4)\n", device) ==
        "index 1 of tensor 'doc' is outside its extent at b 0, h 0, q_idx 0, kv_idx 148 (<spec>:6:37)" +
            remedy);
}

void check_no_findings(Device device) {
  // Masked out, the arm that is not chosen, the side of `and` or `or` that decides nothing.
  for (const char* rest : {"mask_mod = kv_idx < 130\nscore_mod = score + bias[h, doc[b, kv_idx]]\n",
                           "score_mod = score + where(kv_idx < 130, bias[h, doc[b, kv_idx]], 0.5)\n",
                           "mask_mod = kv_idx + 3 < kv_len and doc[b, kv_idx + 3] == doc[b, kv_idx]\n",
                           "mask_mod = doc[b, kv_idx - 2] == 4 and kv_idx >= 2\n",
                           "mask_mod = kv_idx < 5 or doc[b, kv_idx - 5] == 2\n",
                           "mask_mod = doc[b, max(kv_idx - 5, 0)] == 2\n"}) {
    INFO(rest);
    CHECK(finding(rest, device).empty());
  }
}

}  // namespace

TEST_CASE("host: a checked kernel names the first read outside a tensor") {
  check_findings(Device::host);
  check_no_findings(Device::host);
}

TEST_CASE("a spec whose indices are proved has nothing to check") {
  for (const char* rest :
       {"mask_mod = doc[b, kv_idx] == 3\n", "mask_mod = doc[b, max(kv_idx - 5, 0)] == 2\n", ""})
    CHECK(make_check(problem_of(rest).spec, uncached(Device::host), Device::host) == nullptr);
  CHECK(make_check(problem_of("mask_mod = doc[b, kv_idx + 1] == 3\n").spec, uncached(Device::host),
                   Device::host) != nullptr);
}

TEST_CASE("cuda: a checked kernel names the first read outside a tensor", "[gpu]") {
  if (skip_without_gpu()) return;
  check_findings(Device::cuda);
  check_no_findings(Device::cuda);
}
