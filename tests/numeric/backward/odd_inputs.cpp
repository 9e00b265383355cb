// Gradients of calls that hold NaN: they reach what the reference has them in. And memory: nothing outside of
// the call's tensors is read or written.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "fa/backward.h"
#include "tests/catch.h"
#include "tests/numeric/backward/cases.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kLength = 110, kDim = 32;

std::int64_t at(int h, int row, int d) { return (std::int64_t{h} * kLength + row) * kDim + d; }

/// Bytes that end where the process may not read, or begin there.
class Guarded {
 public:
  Guarded(std::size_t bytes, bool at_end) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    pages_ = (bytes + page_ - 1) / page_ + 2;
    void* const memory =
        mmap(nullptr, pages_ * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    memory_ = static_cast<std::byte*>(memory);
    mprotect(memory_, page_, PROT_NONE);
    mprotect(memory_ + (pages_ - 1) * page_, page_, PROT_NONE);
    data_ = at_end ? memory_ + (pages_ - 1) * page_ - bytes : memory_ + page_;
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i) {
      const float value = 0.01f * static_cast<float>(i % 97);
      std::memcpy(data_ + i * sizeof(float), &value, sizeof value);
    }
  }
  ~Guarded() { munmap(memory_, pages_ * page_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  void* data() const { return data_; }

 private:
  std::size_t page_, pages_ = 0;
  std::byte *memory_ = nullptr, *data_ = nullptr;
};

}  // namespace

TEST_CASE("a NaN reaches the gradients that the reference has it in", "[backward]") {
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 2, .q_len = kLength, .kv_len = kLength};
  const Spec spec = load_spec("full").with_head_dim(kDim).with_dtype(DType::f32);
  const Kernel kernel = compile(spec, with_backward());
  const auto check = [&](const char* what, auto change) {
    Problem problem = make_problem(spec, inputs);
    OutputGradientTensors outputs = random_output_gradients(problem, 3);
    change(problem, outputs);
    OutputGradients exact = widened(outputs);
    const MeasuredGradients reference = measured_backward(problem, exact);
    std::string wrong;
    for (const ComparedGradient& gradient :
         compare_gradients(problem, reference, run_backward(kernel, problem, outputs)))
      if (!gradient.holds() || gradient.odd_elements > 0) wrong += gradient.print_worst() + "\n";
    INFO(what);
    CHECK(wrong == "");
  };
  check("nothing", [](Problem&, OutputGradientTensors&) {});
  check("a row of q", [](Problem& p, OutputGradientTensors&) { p.q.set(at(1, 70, 3), kNan); });
  check("a row of dO", [](Problem&, OutputGradientTensors& o) { o.o.set(at(0, 109, 5), kNan); });
  check("a number of dlse", [](Problem&, OutputGradientTensors& o) { o.lse[7] = std::nanf(""); });
}

TEST_CASE("a backward call stays inside its tensors", "[backward]") {
  constexpr std::int64_t kHeads = 2;
  for (const int dim : {32, 40})
    for (const bool at_end : {false, true}) {
      const Spec spec = Spec::parse("attention t\nhead_dim " + std::to_string(dim) +
                                    "\ndtype f32\ntensor pair : f32[num_q_heads, q_len, kv_len] grad\n"
                                    "score_mod = score + pair[h, q_idx, kv_idx]\n");
      const Kernel kernel = compile(spec, with_backward());
      for (const auto& [q_len, kv_len] : {std::pair{97, 65}, {1, 1}, {50, 131}}) {
        const auto rows = static_cast<std::size_t>(kHeads * q_len),
                   keys = static_cast<std::size_t>(kHeads * kv_len);
        const std::size_t row = static_cast<std::size_t>(dim) * sizeof(float);
        const Guarded q(rows * row, at_end), k(keys * row, at_end), v(keys * row, at_end),
            o(rows * row, at_end), lse(rows * sizeof(float), at_end), d_o(rows * row, at_end),
            d_lse(rows * sizeof(float), at_end), d_q(rows * row, at_end), d_k(keys * row, at_end),
            d_v(keys * row, at_end);
        const std::size_t pairs = rows * static_cast<std::size_t>(kv_len) * sizeof(float);
        const Guarded pair(pairs, at_end), d_pair(pairs, at_end);
        const auto view = [&](const Guarded& memory, std::int64_t length) {
          return Tensor::bhsd(memory.data(), DType::f32, 1, kHeads, length, dim);
        };
        BackwardArgs args;
        args.forward.q = view(q, q_len);
        args.forward.k = view(k, kv_len);
        args.forward.v = view(v, kv_len);
        args.forward.o = view(o, q_len);
        args.forward.lse = static_cast<float*>(lse.data());
        args.forward.tensors = {{.name = "pair",
                                 .data = pair.data(),
                                 .dtype = DType::f32,
                                 .shape = {kHeads, q_len, kv_len},
                                 .rank = 3}};
        args.d_o = view(d_o, q_len);
        args.d_lse = static_cast<const float*>(d_lse.data());
        args.d_q = view(d_q, q_len);
        args.d_k = view(d_k, kv_len);
        args.d_v = view(d_v, kv_len);
        args.gradients = {{.name = "pair", .data = static_cast<float*>(d_pair.data())}};
        kernel.forward(args.forward);
        const std::size_t bytes = kernel.backward_workspace_bytes(args);
        const Guarded workspace((bytes + 63) / 64 * 64, at_end);
        args.workspace = workspace.data();
        args.workspace_bytes = bytes;
        kernel.backward(args);
        CHECK(std::isfinite(static_cast<const float*>(d_q.data())[0]));
      }
    }
}
