// tools/problem/problem: params, sizes, fillers, and the messages about input that does not fit.
#include "tools/problem/problem.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"
#include "tools/measure/timing.h"
#include "tools/problem/npy.h"

using namespace fa;
using namespace fa::tools;

namespace {

const Spec& spec() {
  static const Spec value = Spec::parse(R"(attention t
head_dim 16
param window : i32 = 8
param cap : f32 = 2.5
tensor bias : f32[num_q_heads, 2 * window + 1]
tensor table : i8[kv_len] = i0 - 3
score_mod = score * cap + bias[h, clamp(kv_idx - q_idx, -window, window) + window] + table[kv_idx]
)");
  return value;
}

ProblemInputs small() {
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 5, .kv_len = 7};
  return inputs;
}

ProblemInputs with(void (*change)(ProblemInputs&)) {
  ProblemInputs inputs = small();
  change(inputs);
  return inputs;
}

/// "file:line:col: message" of what make_problem throws about the spec.
std::string misfit(const Spec& spec, const ProblemInputs& inputs) {
  try {
    make_problem(spec, inputs);
  } catch (const SpecError& error) {
    const Diagnostic& found = error.diagnostics().at(0);
    return found.place.file + ":" + std::to_string(found.place.line) + ":" +
           std::to_string(found.place.column) + ": " + found.message;
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a problem has tensors of the sizes its params ask for") {
  const Problem plain = make_problem(spec(), small());
  CHECK(plain.q.shape == std::vector<std::int64_t>{1, 4, 5, 16});
  CHECK(plain.k.shape == std::vector<std::int64_t>{1, 2, 7, 16});
  CHECK(plain.tensors[0].shape == std::vector<std::int64_t>{4, 17});
  CHECK(plain.tensors[1].get(0) == -3);
  CHECK(plain.params == std::vector<Scalar>{8, 2.5F});

  const Problem other = make_problem(
      spec(), with([](ProblemInputs& inputs) { inputs.params = {{"window", "3"}, {"cap", "1e-3"}}; }));
  CHECK(other.tensors[0].shape == std::vector<std::int64_t>{4, 7});
  CHECK(other.params == std::vector<Scalar>{3, 1e-3F});
}

TEST_CASE("one seed gives one problem") {
  const Problem a = make_problem(spec(), small());
  CHECK(a.q.bytes == make_problem(spec(), small()).q.bytes);
  CHECK(a.q.bytes != make_problem(spec(), with([](ProblemInputs& inputs) { inputs.data_seed = 2; })).q.bytes);
  CHECK(std::vector(a.k.bytes.begin(), a.k.bytes.begin() + 64) !=
        std::vector(a.q.bytes.begin(), a.q.bytes.begin() + 64));
}

TEST_CASE("a problem's tensors come from files where they are given") {
  const TemporaryFolder folder;
  HostTensor bias("bias", DType::f32, {4, 17});
  bias.set(5, 42);
  write_npy(folder.file("bias.npy"), bias);
  ProblemInputs inputs = small();
  inputs.files["bias"] = folder.file("bias.npy");
  CHECK(make_problem(spec(), inputs).tensors[0].get(5) == 42);
  inputs.params["window"] = "4";
  CHECK_THROWS_WITH(
      make_problem(spec(), inputs),
      folder.file("bias.npy") + ": has shape [4, 17], tensor 'bias' is [4, 9] for this problem");
}

TEST_CASE("input that does not fit is refused by name") {
  const auto refused = [](void (*change)(ProblemInputs&)) {
    try {
      make_problem(spec(), with(change));
    } catch (const ArgumentError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refused([](ProblemInputs& i) { i.size.batch = 0; }) == "batch is 0, it must be at least 1");
  CHECK(refused([](ProblemInputs& i) { i.size.kv_len = (1 << 24) + 1; }) ==
        "kv-len is 16777217, at most 16777216 is supported");
  CHECK(refused([](ProblemInputs& i) { i.size.num_kv_heads = 3; }) ==
        "heads (4) is not a multiple of kv-heads (3); each kv head serves a whole group of query heads");
  CHECK(refused([](ProblemInputs& i) { i.params = {{"windw", "3"}}; }) ==
        "spec 't' has no param 'windw'; it has window and cap");
  CHECK(refused([](ProblemInputs& i) { i.params = {{"window", "3.5"}}; }) ==
        "param 'window' is i32, '3.5' is not a 32-bit integer");
  CHECK(refused([](ProblemInputs& i) { i.params = {{"window", "3000000000"}}; }) ==
        "param 'window' is i32, '3000000000' is not a 32-bit integer");
  CHECK(refused([](ProblemInputs& i) { i.params = {{"cap", "big"}}; }) ==
        "param 'cap' is f32, 'big' is not a number");
  CHECK(refused([](ProblemInputs& i) { i.files = {{"bios", "x.npy"}}; }) ==
        "spec 't' has no tensor 'bios'; it has q, k, v, bias and table");
  CHECK(refused([](ProblemInputs& i) { i.dropout = 0.1F; }) ==
        "spec 't' has no dropout; add a line `dropout 0.1` to it");
}

TEST_CASE("an extent that does not fit the problem is refused where the spec has it", "[tools]") {
  CHECK(
      misfit(spec(), with([](ProblemInputs& i) { i.params = {{"window", "-1"}}; })) ==
      "<spec>:5:32: tensor 'bias': extent 1 (2 * window + 1) is -1 for this problem, it must be at least 1");
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "t.fa", "attention t\nhead_dim 16\ntensor x : f32[kv_len - 512] = 1.0\nscore_mod = score + x[0]\n");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"run", file, "--device", "host"},
                                                  {"bench", file, "--device", "host", "--q-len", "512"},
                                                  {"explain", file, "--tiles", "--gpu", "a100"}}) {
    const auto result = facet(command);
    CHECK(result.status == 2);
    const std::size_t at = result.err.find(file + ":3:16: error: ");
    REQUIRE(at != std::string::npos);
    CHECK(missing(result.err.substr(at),
                  {"error: tensor 'x': extent 0 (kv_len - 512) is 0 for this problem, it must be at least 1\n"
                   "   3 | tensor x : f32[kv_len - 512] = 1.0\n"
                   "     |                ^~~~~~~~~~~~\n"
                   "help: here q_len is 512, kv_len 512 and num_q_heads "}) == "");
  }
}

TEST_CASE("random fillers keep to their types' ranges") {
  HostTensor numbers("n", DType::i8, {1000});
  fill_random(numbers, 1);
  HostTensor flags("f", DType::boolean, {1000});
  fill_random(flags, 1);
  double set = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    REQUIRE(numbers.get(i) >= 0);
    REQUIRE(numbers.get(i) <= 7);
    set += flags.get(i);
  }
  CHECK(set > 400);
  CHECK(set < 600);
}

TEST_CASE("timings are summed up by order") {
  const auto summary = summarise({5, 1, 3, 2, 4});
  CHECK(summary.median == 3);
  CHECK(summary.best == 1);
  CHECK(std::fabs(summary.p10 - 1.4) < 1e-12);
  CHECK(std::fabs(summary.p90 - 4.6) < 1e-12);
  CHECK(summary.runs == 5);
  CHECK(summarise({7}).p90 == 7);
  CHECK(summarise({}).runs == 0);
}

TEST_CASE("a tensor of more elements than an index can name is refused before it is made") {
  const Spec wide = Spec::parse(
      "attention t\nhead_dim 16\ntensor t : i32[65536, 65536] = i0 + i1\nmask_mod = t[q_idx, kv_idx] > 3\n");
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 4, .kv_len = 4};
  CHECK(
      misfit(wide, inputs) ==
      "<spec>:3:8: tensor 't' would have more than 2147483647 elements for this problem: an index is an i32");
  CHECK_FALSE(tensors_fit(wide, inputs, std::int64_t{1} << 40));
  inputs.size = {
      .batch = 65536, .num_q_heads = 65536, .num_kv_heads = 1, .q_len = 1 << 24, .kv_len = 1 << 24};
  CHECK_THROWS_AS(make_problem(Spec::parse("attention t\n"), inputs), ArgumentError);
}
