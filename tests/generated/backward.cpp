// Made-up specs through the backward pass on the host, on a GPU and on an emulated one, against the fp64 reference:
// whatever of a spec can have a gradient is marked `grad`.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include "tests/catch.h"
#include "tests/emulated_gpu/kernel.h"
#include "tests/generated/made_up.h"
#include "tests/numeric/backward/cases.h"
#include "tools/reference/parallel.h"

using namespace fa;
using namespace fa::test;
using namespace fa::tools;

namespace {

bool is_float(const std::string& line) {
  for (const char* type : {" : f32", " : f16", " : bf16"})
    if ((line.starts_with("param ") || line.starts_with("tensor ")) && line.find(type) != std::string::npos)
      return true;
  return false;
}

/// The spec with `grad` on every param and tensor that a gradient reaches.
Spec with_gradients(const MadeUp& made) {
  std::vector<std::string> lines;
  std::istringstream text(made.text);
  for (std::string line; std::getline(text, line);) lines.push_back(is_float(line) ? line + " grad" : line);
  while (true) {
    MadeUp marked = made;
    marked.text.clear();
    for (const std::string& line : lines) marked.text += line + "\n";
    try {
      return marked.spec();
    } catch (const SpecError& error) {
      bool is_changed = false;
      for (const Diagnostic& found : error.diagnostics()) {
        const auto at = static_cast<std::size_t>(found.place.line - 1);
        if (at >= lines.size() || !lines[at].ends_with(" grad")) continue;
        lines[at].resize(lines[at].size() - 5);
        is_changed = true;
      }
      if (!is_changed) throw;
    }
  }
}

struct Differentiable {
  Spec spec;
  Kernel kernel;
};

Differentiable compile_with_gradients(const MadeUp& made, const Options& options) {
  const Spec spec = with_gradients(made);
  try {
    return {.spec = spec, .kernel = compile(spec, options)};
  } catch (const SpecError&) {  // of hooks from files only the compiler knows what a gradient reaches
    return {.spec = made.spec(), .kernel = compile(made.spec(), options)};
  }
}

/// What all specs of a test had to compare. A test that compares nothing must not pass.
struct Tally {
  std::int64_t rows = 0, gradients = 0;

  void compare(const Differentiable& compiled, const MadeUp& made) {
    const auto& [spec, kernel] = compiled;
    std::int64_t compared = 0;
    CHECK(backward_failure(kernel, make_problem(spec, made.inputs), Layout::bhsd, &compared) == "");
    rows += compared;
    for (const ParamInfo& param : spec.params()) gradients += param.grad ? 1 : 0;
    for (const TensorInfo& tensor : spec.tensors()) gradients += tensor.grad ? 1 : 0;
  }

  void check(std::uint64_t specs) const {
    CHECK(rows > 0);
    CHECK(gradients > 0);
    WARN(fmt::format("{} made-up specs, {} rows compared, {} captured gradients", specs, rows, gradients));
  }
};

void check_range(const Range& range) {
  Tally tally;
  for (std::uint64_t i = range.first; i < range.first + range.count; ++i) {
    const MadeUp made = made_up(i);
    INFO(made.print());
    tally.compare(compile_with_gradients(made, with_backward()), made);
  }
  tally.check(range.count);
}

/// The spec of a number in a dtype that the target has a backward pass for.
MadeUp fitting(std::uint64_t number, const std::string& target) {
  MadeUp made = made_up(number);
  if (target != "t4") return made;
  const Spec spec = made.spec();
  const bool is_wide = std::max(spec.head_dim(), spec.head_dim_v()) > 128;  // in f32 more than a T4 holds
  if (spec.dtype() == DType::bf16 || (spec.dtype() == DType::f32 && is_wide))
    made.text = spec.with_dtype(DType::f16).text();
  return made;
}

void check_on_gpu(const std::string& target, const Range& range) {
  Options options = uncached(Device::cuda);
  options.backward = true;
  options.target = target;
  std::vector<std::optional<Differentiable>> compiled(range.count);
  std::vector<std::string> refused(range.count);
  parallel_for(static_cast<std::int64_t>(range.count), 1, [&](std::int64_t at, std::int64_t) {
    const auto i = static_cast<std::size_t>(at);
    try {
      compiled[i] = compile_with_gradients(fitting(range.first + i, target), options);
    } catch (const BuildError& error) {
      refused[i] = fmt::format("{}\n{}", error.what(), error.log());
    } catch (const Error& error) {
      refused[i] = error.what();
    }
  });
  Tally tally;
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    const MadeUp made = fitting(range.first + i, target);
    INFO(target << "\n" << made.print());
    CHECK(refused[i] == "");
    if (compiled[i]) tally.compare(*compiled[i], made);
  }
  tally.check(range.count);
}

/// What is wrong with the emulated kernels' gradients; where they are to repeat, their bits in both orders, too.
std::string wrong_on_gpu(const MadeUp& made, bool deterministic) {
  try {
    const Spec spec = with_gradients(made);
    const Problem problem = make_problem(spec, made.inputs);
    const std::array<Kernel, 2> kernels = emulated_kernels_with_backward(spec, "a100", {}, deterministic);
    std::string wrong = backward_failure(kernels[1], problem);
    if (!deterministic) return wrong;
    const OutputGradientTensors outputs = random_output_gradients(problem, 5);
    const auto a = run_backward(kernels[0], problem, outputs), b = run_backward(kernels[1], problem, outputs);
    for (std::size_t i = 0; i < a.tensors.size(); ++i)
      if (a.tensors[i].bytes != b.tensors[i].bytes) wrong += fmt::format("gradient {} has no order\n", i);
    return wrong;
  } catch (const BuildError& error) {
    return fmt::format("{}\n{}", error.what(), error.log());
  } catch (const SpecError&) {  // of hooks from files, as above, or no tiles hold it
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("made-up specs have the reference's gradients on the host", "[backward][generated]") {
  check_range({.first = 0, .count = 12});
}

TEST_CASE("many made-up specs have the reference's gradients on the host", "[backward][generated][slow]") {
  check_range(made_up_range(60));
}

TEST_CASE("made-up specs have the reference's gradients with sm_80's kernels on a GPU",
          "[backward][generated][gpu]") {
  if (skip_without_gpu()) return;
  check_on_gpu("a100", made_up_range(30));
}

TEST_CASE("made-up specs have the reference's gradients with sm_75's kernels on a GPU",
          "[backward][generated][gpu]") {
  if (skip_without_gpu()) return;
  check_on_gpu("t4", made_up_range(30));
}

TEST_CASE("made-up specs have the reference's gradients on an emulated GPU",
          "[backward][generated][emulated][deterministic][slow]") {
  if (skip_without_compiler()) return;
  constexpr std::uint64_t kFirst = 300;
  std::vector<std::string> wrong(10);
  parallel_for(static_cast<std::int64_t>(wrong.size()), 1, [&](std::int64_t i, std::int64_t) {
    wrong[static_cast<std::size_t>(i)] =
        wrong_on_gpu(made_up(kFirst + static_cast<std::uint64_t>(i)), i % 2 == 0);
  });
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    INFO(made_up(kFirst + i).print());
    CHECK(wrong[i] == "");
  }
}
