// Every check of a backward call, by its message; calls without elements; and kernels without a backward
// pass.
#include "runtime/call/backward_arguments.h"

#include <fmt/format.h>

#include <functional>

#include "tests/catch.h"
#include "tests/numeric/backward/cases.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using fa::tests::kNothingThrown;
using fa::tests::message_of;

namespace {

const Spec& spec_with_gradients() {
  static const Spec value = Spec::parse(
      "attention a\nhead_dim 16\nhead_dim_v 8\ndtype f32\nparam bend : f32 = 1.5 grad\n"
      "tensor slopes : f32[num_q_heads] grad\nscore_mod = score * bend + slopes[h]\n");
  return value;
}

/// A valid call and its memory.
struct ValidCall {
  int q_len = 10, kv_len = 5;
  std::vector<float> q, k, v, o, lse, d_o, d_lse, d_q, d_k, d_v, slopes, d_slopes, d_bend;
  BackwardArgs args;

  explicit ValidCall(int queries = 10, int keys = 5) : q_len(queries), kv_len(keys) {
    const auto make = [](std::vector<float>& memory, int heads, int length, int dim) {
      memory.assign(static_cast<std::size_t>(2 * heads * length * dim), 0.25f);
      return Tensor::bhsd(memory.data(), DType::f32, 2, heads, length, dim);
    };
    args.forward.q = make(q, 4, q_len, 16);
    args.forward.k = make(k, 2, kv_len, 16);
    args.forward.v = make(v, 2, kv_len, 8);
    args.forward.o = make(o, 4, q_len, 8);
    args.d_o = make(d_o, 4, q_len, 8);
    args.d_q = make(d_q, 4, q_len, 16);
    args.d_k = make(d_k, 2, kv_len, 16);
    args.d_v = make(d_v, 2, kv_len, 8);
    make(lse, 4, q_len, 1);
    make(d_lse, 4, q_len, 1);
    slopes.assign(4, 0.5f);
    d_slopes.assign(4, 7.0f);
    d_bend.assign(1, 7.0f);
    args.forward.lse = lse.data();
    args.d_lse = d_lse.data();
    args.forward.tensors = {
        {.name = "slopes", .data = slopes.data(), .dtype = DType::f32, .shape = {4}, .rank = 1}};
    args.gradients = {{.name = "slopes", .data = d_slopes.data()}, {.name = "bend", .data = d_bend.data()}};
  }
};

std::string refusal(const std::function<void(ValidCall&)>& spoil) {
  ValidCall call;
  spoil(call);
  return message_of<ArgumentError>(
      [&] { prepare_backward(spec_with_gradients().checked(), Device::host, call.args); });
}

const Kernel& kernel() {
  static const Kernel value = compile(spec_with_gradients(), tools::with_backward());
  return value;
}

}  // namespace

TEST_CASE("a backward call's arguments are checked by name", "[backward]") {
  CHECK(refusal([](ValidCall&) {}) == kNothingThrown);
  CHECK(refusal([](ValidCall& c) { c.args.forward.lse = nullptr; }) ==
        "lse is null: the backward pass reads it; pass memory for it to forward, and the same here");
  CHECK(refusal([](ValidCall& c) { c.args.forward.q.shape[3] = 8; }) ==
        "q.shape[3] (dim) is 8, the kernel's head_dim is 16: compile the spec with_head_dim");
  CHECK(refusal([](ValidCall& c) { c.args.d_o.dtype = DType::bf16; }) ==
        "d_o has dtype bf16, the kernel takes f32: convert it, or compile the spec with_dtype(bf16)");
  CHECK(refusal([](ValidCall& c) { c.args.d_q.shape[2] = 9; }) ==
        "d_q.shape[2] (length) is 9, q's is 10: they must be the same");
  CHECK(refusal([](ValidCall& c) { c.args.d_k.shape[1] = 4; }) ==
        "d_k.shape[1] (heads) is 4, k's is 2: they must be the same");
  CHECK(refusal([](ValidCall& c) { c.args.d_v.data = nullptr; }) ==
        "d_v.data is null: pass the address of its first element");
  CHECK(refusal([](ValidCall& c) { c.args.d_k.strides[2] = 0; }) ==
        "d_k.strides make elements of d_k share memory: pass a tensor whose elements are distinct");
  CHECK(
      refusal([](ValidCall& c) { c.args.d_q.data = c.q.data(); }) ==
      "d_q and q share memory, and the call writes d_q while it reads the other: give d_q memory of its own");
  CHECK(refusal([](ValidCall& c) {
          c.args.d_q.data = c.d_slopes.data();
        }).starts_with("d_q and slopes share memory"));
  CHECK(refusal([](ValidCall& c) {
          c.args.gradients[0].data = c.slopes.data();
        }).starts_with("slopes and tensor slopes share memory"));
  CHECK(refusal([](ValidCall& c) { c.args.gradients.pop_back(); }) ==
        "the gradient of param 'bend' is missing: add it to BackwardArgs::gradients, or drop `grad`");
  CHECK(refusal([](ValidCall& c) { c.args.gradients.erase(c.args.gradients.begin()); }) ==
        "the gradient of tensor 'slopes' is missing: add it to BackwardArgs::gradients, or drop `grad`");
  CHECK(refusal([](ValidCall& c) { c.args.gradients[1].name = "slopes"; }) ==
        "gradient 'slopes' is given twice: leave one out");
  CHECK(refusal([](ValidCall& c) { c.args.gradients[1].name = "score"; }) ==
        "gradient 'score' is of nothing that the spec marks grad: leave it out, or write `grad` after the "
        "param or tensor");
  CHECK(refusal([](ValidCall& c) { c.args.gradients[1].data = nullptr; }) ==
        "gradient 'bend' has no data: pass the address of its first element");
}

TEST_CASE("a backward call without queries or without keys gives zeros", "[backward]") {
  for (const auto& [queries, keys] : {std::pair{0, 5}, {10, 0}}) {
    ValidCall call(queries, keys);
    CHECK(kernel().backward_workspace_bytes(call.args) == 0);
    kernel().backward(call.args);
    for (const auto* written : {&call.d_q, &call.d_k, &call.d_v, &call.d_slopes, &call.d_bend})
      for (const float x : *written) CHECK(x == 0);
  }
}

TEST_CASE("a backward call needs its workspace", "[backward]") {
  ValidCall call;
  const std::size_t bytes = kernel().backward_workspace_bytes(call.args);
  CHECK(bytes > 0);  // the captured gradients' sums
  CHECK(message_of<ArgumentError>([&] { kernel().backward(call.args); }) ==
        fmt::format("workspace has 0 bytes, this call needs {}: pass memory of "
                    "Kernel::backward_workspace_bytes(args) bytes",
                    bytes));
}

TEST_CASE("a kernel that was compiled without a backward pass says so", "[backward]") {
  const Kernel forward_only = compile(spec_with_gradients(), tools::uncached(Device::host));
  ValidCall call;
  for (const auto& ask : {std::function<void()>([&] { forward_only.backward(call.args); }),
                          std::function<void()>([&] { forward_only.backward_workspace_bytes(call.args); })})
    CHECK(message_of<ArgumentError>(ask) ==
          "this kernel has no backward pass: compile the spec with Options::backward");
}

TEST_CASE("the memory cache and the disk cache tell kernels with a backward pass apart", "[backward]") {
  const tests::TemporaryFolder folder;
  Options options;
  options.device = Device::host;
  options.cache_dir = folder.path();
  options.memory_cache = false;
  CHECK(compile(spec_with_gradients(), options).times().source == CompileTimes::Source::compiled);
  CHECK(compile(spec_with_gradients(), options).times().source == CompileTimes::Source::disk);
  options.backward = true;
  CHECK(compile(spec_with_gradients(), options).times().source == CompileTimes::Source::compiled);
  const Kernel from_disk = compile(spec_with_gradients(), options);
  CHECK(from_disk.times().source == CompileTimes::Source::disk);
  ValidCall call;
  std::vector<double> workspace(from_disk.backward_workspace_bytes(call.args) / sizeof(double) + 8);
  call.args.workspace = workspace.data();
  call.args.workspace_bytes = workspace.size() * sizeof(double);
  from_disk.forward(call.args.forward);
  from_disk.backward(call.args);
  CHECK(call.d_bend[0] != 7.0f);

  options.memory_cache = true;
  options.disk_cache = false;
  options.backward = false;
  compile(spec_with_gradients(), options);
  options.backward = true;
  CHECK(compile(spec_with_gradients(), options).times().source == CompileTimes::Source::compiled);
  CHECK(compile(spec_with_gradients(), options).times().source == CompileTimes::Source::memory);
}
