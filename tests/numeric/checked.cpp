// Options::checked: which reads outside a tensor are found, the messages about them, and which do not matter.
#include "runtime/checked.h"

#include <cstring>

#include "tests/catch.h"
#include "tests/numeric/cases.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr int kLength = 150;

Problem problem_with(const std::string& rest) {
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

/// The message of a checked kernel about a call; empty where it computes what an unchecked one does.
std::string finding(const std::string& rest, Device device) {
  const Problem problem = problem_with(rest);
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

/// The message of a checked kernel where element `at` of the i64 tensor `ids` is `number`; empty where it
/// accepts.
std::string finding_of_wide(const std::string& hooks, std::size_t at, std::int64_t number, Device device) {
  const Spec spec =
      Spec::parse("attention t\nhead_dim 32\ndtype f32\ntensor ids : i64[batch, kv_len] = i1 / 16\n" + hooks);
  ProblemInputs inputs;
  inputs.size = {.batch = 2, .num_q_heads = 2, .num_kv_heads = 1, .q_len = kLength, .kv_len = kLength};
  Problem problem = make_problem(spec, inputs);
  std::memcpy(problem.tensors[0].bytes.data() + 8 * at, &number, sizeof number);
  const Kernel kernel = compile(spec, checked(device));
  try {
    run_forward(kernel, problem);
    return {};
  } catch (const ArgumentError& error) {
    return error.what();
  }
}

void check_wide_numbers(Device device) {
  constexpr std::int64_t kBig = std::int64_t{1} << 32;
  const std::string rule = ": the numbers of an i64 tensor must fit one where they are read";
  const std::string hooks = "mask_mod = ids[b, q_idx] == ids[b, kv_idx]\n";
  for (const std::int64_t fits : {std::int64_t{2147483647}, std::int64_t{-2147483647} - 1})
    CHECK(finding_of_wide(hooks, kLength + 130, fits, device).empty());
  for (const std::int64_t number : {kBig, kBig + 8, -kBig + 8, std::int64_t{2147483648}}) {
    CHECK(finding_of_wide(hooks, kLength + 130, number, device) ==
          "tensor 'ids' holds a number that is no i32 at [1, 130], read at b 1, h 0, q_idx 0, kv_idx 130 "
          "(<spec>:5:29)" +
              rule);
  }
  CHECK(finding_of_wide("mask_mod = any(i < 3: ids[b, max(kv_idx - i, 0)] == 4)\n", 130, kBig, device) ==
        "tensor 'ids' holds a number that is no i32; read at b 0, h 0, q_idx 0, kv_idx 130 (<spec>:5:23)" +
            rule);
  // A number that no element reads, or that decides nothing, may have any size.
  CHECK(finding_of_wide("mask_mod = ids[b, q_idx / 2] == 3\n", 130, kBig, device).empty());
  CHECK(finding_of_wide("mask_mod = kv_idx < 130 and ids[b, kv_idx] >= 0\n", 130, kBig, device).empty());
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

TEST_CASE("host: a checked kernel names a number of an i64 tensor that is no i32") {
  check_wide_numbers(Device::host);
}

TEST_CASE("host: a checked kernel refuses a range above its maximum, where it matters") {
  const auto said = [](const std::string& hooks, int n) {
    return finding("param n : i32 = " + std::to_string(n) + "\n" + hooks, Device::host);
  };
  const std::string mask = "mask_mod = kv_idx >= 3 and any(i < 2 * n max 8: i == kv_idx)\n";
  CHECK(said(mask, 4).empty());
  CHECK(said(mask, -1).empty());
  CHECK(
      said(mask, 5) ==
      "the range of a reduction is 10, its maximum 8 at b 0, h 0, q_idx 0, kv_idx 3 (<spec>:7:38): raise the "
      "maximum, or pass less");
  CHECK(said("mask_mod = kv_idx < 5 or n < 5 and any(i < n max 4: i == kv_idx)\n", 9).empty());
  // A tensor that is as long as the range is read inside it.
  CHECK(make_check(problem_with("param n : i32 = 9\ntensor t : i32[n]\n"
                                "mask_mod = any(i < min(n, 40) max 40: t[i] == kv_idx)\n")
                       .spec,
                   uncached(Device::host), Device::host) == nullptr);
}

// Conditions are shared as the expressions are that they guard. Otherwise this spec would have 2^30 of them.
TEST_CASE("reads inside reads are checked in linear time") {
  std::string lets = "let x0 = doc[b, kv_idx]\n";
  for (int i = 1; i <= 30; ++i) {
    lets += "let x" + std::to_string(i) + " = doc[b, where(x" + std::to_string(i - 1) + " > 3, x" +
            std::to_string(i - 1) + " * 2, 3 - x" + std::to_string(i - 1) + ")]\n";
  }
  CHECK(finding(lets + "mask_mod = x30 == 4\n", Device::host) ==
        "index 1 of tensor 'doc' is 198, outside its extent at b 0, h 0, q_idx 0, kv_idx 130 "
        "(<spec>:7:17): correct the index, or what the call's tensors hold");
}

TEST_CASE("a spec whose indices are proved has nothing to check") {
  for (const char* rest :
       {"mask_mod = doc[b, kv_idx] == 3\n", "mask_mod = doc[b, max(kv_idx - 5, 0)] == 2\n", ""})
    CHECK(make_check(problem_with(rest).spec, uncached(Device::host), Device::host) == nullptr);
  CHECK(make_check(problem_with("mask_mod = doc[b, kv_idx + 1] == 3\n").spec, uncached(Device::host),
                   Device::host) != nullptr);
}

TEST_CASE("cuda: a checked kernel names the first read outside a tensor", "[gpu]") {
  if (skip_without_gpu()) return;
  check_findings(Device::cuda);
  check_wide_numbers(Device::cuda);
  check_no_findings(Device::cuda);
}
