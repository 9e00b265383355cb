#include "tests/emulated_gpu/cases.h"

#include "tests/catch.h"
#include "tests/emulated_gpu/kernel.h"
#include "tools/reference/parallel.h"

namespace fa::test {

using namespace fa::tools;

Case tiny(const std::string& spec, const std::string& target, DType dtype, int head_dim) {
  return {.spec = spec,
          .dtype = dtype,
          .head_dim = head_dim,
          .head_dim_v = 0,
          .size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 150, .kv_len = 170},
          .layout = Layout::bhsd,
          .plan = {},
          .target = target};
}

namespace {

/// What is wrong with each, or an empty text.
std::vector<std::string> wrong_with(const std::vector<Case>& cases) {
  std::vector<std::string> wrong(cases.size());
  parallel_for(static_cast<std::int64_t>(cases.size()), 1, [&](std::int64_t at, std::int64_t) {
    const auto i = static_cast<std::size_t>(at);
    const Case& c = cases[i];
    try {
      const Kernel kernel = emulated_kernel(c.load(), c.target, c.plan,
                                            i % 2 == 0 ? Order::first_to_last : Order::last_to_first);
      wrong[i] = failure(kernel, make_problem(c.load(), c.inputs()), c.layout);
    } catch (const BuildError& error) {
      wrong[i] = std::string(error.what()) + "\n" + error.log();
    } catch (const Error& error) {
      wrong[i] = error.what();
    }
  });
  return wrong;
}

}  // namespace

void check_emulated(const std::vector<Case>& cases) {
  if (skip_without_compiler()) return;
  const std::vector<std::string> wrong = wrong_with(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].print());
    CHECK(wrong[i] == "");
  }
}

std::string failure_in_any_order(const Spec& spec, const Source& source, const Problem& problem) {
  for (const Order order : {Order::first_to_last, Order::last_to_first})
    if (const std::string why = failure(emulated_kernel(spec, source, order), problem); !why.empty())
      return why;
  return "";
}

Source replaced(Source source, const std::string& header, const std::string& from, const std::string& to) {
  for (SourceHeader& file : source.headers) {
    if (file.path != header) continue;
    const std::size_t at = file.text.find(from);
    REQUIRE(at != std::string::npos);
    file.text.replace(at, from.size(), to);
    return source;
  }
  FAIL("the source has no header " << header);
  return source;
}

}  // namespace fa::test
