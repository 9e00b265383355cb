// An explanation as text on stdout.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "compiler/emit/host/shape.h"
#include "compiler/schedule/cost.h"
#include "compiler/schedule/product.h"
#include "compiler/schedule/support.h"
#include "runtime/host/jit.h"
#include "tools/console/text.h"
#include "tools/explanation/explanation.h"
#include "tools/problem/describe.h"

namespace fa::tools {
namespace {

/// Which kv tiles the kernel visits.
std::string describe_walk(const Compiled& compiled) {
  if (!compiled.facts.has_mask || compiled.facts.mask_is_always_true) return "every one: nothing is masked";
  const TileClasses& classes = compiled.classes;
  std::string text = "by the mask's class: empty ones are left out, full ones run no mask";
  if (!classes.map) return text;
  text += "; a pass before finds the classes";
  const std::size_t count = classes.summaries.size();
  if (count > 0) text += fmt::format(", from {} one-sided {}", count, count == 1 ? "part" : "parts");
  return text +
         (count > 0 ? " and elements where those do not tell" : ", from elements where bounds do not tell");
}

std::string describe_prediction(const Explanation& e) {
  return fmt::format("{}, {}", print_milliseconds(e.predicted_ms),
                     print_rate(e.traffic.flops * e.share.value_or(1), e.predicted_ms, true));
}

/// What the prediction assumes about the mask; empty where there is none.
std::string describe_assumption(const Explanation& e) {
  if (!e.spec.checked().has_mask_mod()) return {};
  if (!e.share) return "for every tile: counting those that the mask leaves would take long (--tiles does)";
  const char* const tensors = e.spec.tensors().empty() ? ""
                              : e.reads_files          ? ", of the given tensors"
                                                       : ", of the example tensors";
  return fmt::format("for the {:.2f}% of tiles that the mask leaves{}; for every tile {}", *e.share * 100,
                     tensors, print_milliseconds(e.predicted_dense_ms));
}

void print_indented(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find('\n', at), text.size());
    fmt::print("  {}\n", text.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

std::string describe_products(const Explanation& e) {
  const auto& checked = e.spec.checked();
  if (!e.target.is_host()) return describe_product(checked.dtype, e.target);
  return describe_products(host_shape(checked, e.compiled.choice.plan, host_cpu()));
}

void print_explanation(const Explanation& e) {
  const bool colour = takes_colour(STDOUT_FILENO);
  const auto title = [&](std::string_view text) { fmt::print("\n{}\n", styled(text, Style::cyan, colour)); };
  const auto line = [](std::string_view label, const std::string& text) {
    fmt::print("  {:<20} {}\n", label, text);
  };
  const auto& checked = e.spec.checked();
  const Plan& plan = e.compiled.choice.plan;

  fmt::print("{}  {}, for {}: {}\n", styled(e.spec.name(), Style::bold, colour), describe_spec(e.spec),
             e.target.name, e.target.description);
  title("facts");
  print_indented(e.compiled.facts.print());
  title("clamped reads");
  if (e.compiled.facts.clamped.empty()) fmt::print("  none: every index is proved in range\n");
  for (const auto& read : e.compiled.facts.clamped) {
    fmt::print("  {}:{}:{}: index {} of tensor '{}'\n", checked.file, read.line, read.column, read.dimension,
               read.tensor);
  }

  const bool is_baseline = plan.is_baseline();
  title("plan");
  line("plan", plan.print());
  line("why", e.compiled.choice.why);
  if (e.origin.plan == plan.print()) {
    line("compile takes", "this plan: " + e.origin.why);
  } else {
    line("compile takes", e.origin.plan);
    line("", e.origin.why);
  }
  for (const Family family : e.target.families)
    if (const std::string reason = why_refused(family, checked, e.target); !reason.empty())
      line("why not " + std::string(family_name(family)), reason);
  line("tiles", is_baseline ? "every one: baselines leave none out" : describe_walk(e.compiled));
  line("products", describe_products(e));
  if (is_baseline)
    line("workspace",
         fmt::format("{} for {}", print_bytes(static_cast<double>(e.workspace)), describe_size(e.size)));
  if (!e.target.is_host()) {
    line("shared memory",
         fmt::format("{} a CTA, of {}", print_bytes(most_shared_memory(e.compiled.source->program)),
                     print_bytes(e.target.max_smem_per_block)));
    if (!is_baseline) {
      line("CTAs on an SM", fmt::format("{}", ctas_that_fit(plan, checked, e.target)));
      line("registers", fmt::format("about {} a thread (estimate)", register_estimate(plan, checked)));
    }
    if (e.built) {
      line("  as built",
           fmt::format("{} a thread, {} bytes spilled, cubin {} for {}, NVRTC took {}", e.built->registers,
                       e.built->spill_bytes, print_bytes(static_cast<double>(e.built->cubin_bytes)),
                       e.compiled.source->arch, print_milliseconds(e.built->milliseconds)));
    }
  }

  if (!e.backward_plan.empty()) {
    title("backward pass");
    line("plan", e.backward_plan);
    if (!e.target.is_host())
      line("workspace", fmt::format("{} for {}", print_bytes(static_cast<double>(e.backward_workspace)),
                                    describe_size(e.size)));
  }
  if (e.taken_plans.size() > 1) {
    title("plans by call, as compile takes them");
    for (const std::string& text : print_table(e.taken_plans)) fmt::print("  {}\n", text);
  }

  title(fmt::format("one forward pass: {}", describe_size(e.size)));
  const Traffic& t = e.traffic;
  line("FLOPs", fmt::format("{:.4g} in the two products, {:.4g} exp2", t.flops, t.exps));
  line("standard attention",
       fmt::format("{} to and from memory ({} by the paper's N d + N^2)", print_bytes(t.standard_bytes),
                   print_bytes(t.standard_bytes_by_formula)));
  if (is_baseline) {
    line("  this plan", fmt::format("{} to and from memory, {} at least", print_bytes(t.baseline_bytes),
                                    print_bytes(t.least_bytes)));
    if (e.tiles) print_tiles(*e.tiles, checked.file, colour);
    return;
  }
  const std::string by_formula =
      t.fused_bytes_by_formula > 0
          ? fmt::format(" ({} by the paper's N^2 d^2 / M)", print_bytes(t.fused_bytes_by_formula))
          : "";
  line("fused kernel", fmt::format("{} loaded and stored{}", print_bytes(t.fused_bytes), by_formula));
  line("  from memory",
       fmt::format("{} of these, {} at least; {:.1f}x less than standard", print_bytes(t.hbm_bytes),
                   print_bytes(t.least_bytes), t.standard_bytes / t.hbm_bytes));
  if (t.tensor_ms > 0) {
    line("bound",
         fmt::format("{}: products {}, exp2 {}, memory {}{}", bound_name(t.bound),
                     print_milliseconds(t.tensor_ms), print_milliseconds(t.exp2_ms),
                     print_milliseconds(t.memory_ms), checked.has_mask_mod() ? ", for every score" : ""));
    line("predicted", describe_prediction(e));
    if (const std::string assumed = describe_assumption(e); !assumed.empty()) line("", assumed);
  }
  if (e.tiles) print_tiles(*e.tiles, checked.file, colour);
}

}  // namespace fa::tools
