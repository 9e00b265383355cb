#include "tests/numeric/backward/cases.h"

#include <fmt/format.h>

#include "tests/catch.h"

namespace fa::tools {

Options with_backward(int threads) {
  Options options = uncached(Device::host);
  options.backward = true;
  options.num_threads = threads;
  return options;
}

std::string backward_failure(const Kernel& kernel, const Problem& problem, Layout layout,
                             std::int64_t* compared_rows) {
  OutputGradientTensors outputs = random_output_gradients(problem, 11);
  OutputGradients exact = widened(outputs);
  const MeasuredGradients reference = measured_backward(problem, exact);
  narrow(exact, outputs);
  const ProblemSize& size = problem.size;
  if (compared_rows != nullptr)
    *compared_rows = std::int64_t{size.batch} * size.num_q_heads * size.q_len - reference.doubtful_rows;
  std::string wrong;
  for (const ComparedGradient& gradient :
       compare_gradients(problem, reference, run_backward(kernel, problem, outputs, layout)))
    if (!gradient.holds())
      wrong += fmt::format("{} ({:.2f} of the bound)\n", gradient.print_worst(), gradient.worst);
  return wrong;
}

void check_backward(const Case& c) {
  INFO(c.print());
  std::int64_t rows = 0;
  Options options = with_backward();
  options.plan = c.plan;
  const std::string wrong =
      backward_failure(compile(c.load(), options), make_problem(c.load(), c.inputs()), c.layout, &rows);
  CHECK(wrong == "");
  CHECK(rows > 0);
}

void check_backward(const Spec& spec, const ProblemInputs& inputs, Layout layout) {
  INFO(spec.text());
  std::int64_t rows = 0;
  const std::string wrong =
      backward_failure(compile(spec, with_backward()), make_problem(spec, inputs), layout, &rows);
  CHECK(wrong == "");
  CHECK(rows > 0);
}

}  // namespace fa::tools
