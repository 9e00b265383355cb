// facet emit: prints the value of one stage of the compiler.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "compiler/derive/derive.h"
#include "compiler/ir/import/import.h"
#include "compiler/spec/print.h"
#include "runtime/build/build.h"
#include "runtime/host/jit.h"
#include "runtime/system/output.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json_option.h"
#include "tools/command/spec_file.h"
#include "tools/command/targets.h"
#include "tools/command/validators.h"
#include "tools/console/progress.h"
#include "tools/console/report.h"
#include "tools/plans/plan_table.h"

namespace fa::tools {

namespace {

constexpr const char* kEmitFooter = R"(
Stages, in the compiler's order:
  import   hooks from LLVM IR, normalised: what is made into typed trees
  ast      the checked spec: typed trees
  ir       the hooks as LLVM IR, simplified, with the functions that kernels evaluate
  facts    what depends on what, and how score_mod uses the score
  derive   the derivatives of score_mod and the sink, as LLVM IR
  plan     the schedule, and why
  source   the CUDA translation unit that NVRTC gets; with --gpu host the whole kernel as LLVM IR
  ptx      what NVRTC makes of it (no GPU needed); with --gpu host the machine code as assembly
With --backward, plan, source and ptx are those of the backward pass.

Examples:
  facet emit specs/softcap.fa --stage ir
  facet emit specs/causal.fa --stage source --gpu h100 -o causal.cu
  facet emit specs/alibi.fa --stage source --gpu a100 --backward
  facet emit specs/causal.fa --stage ptx --gpu host)";

struct EmitArguments {
  std::string spec_path, stage = "source", gpu, plan, output;
  JsonOption json;
  BackwardArguments backward;
  ImplArgument impl;
  SpecArguments spec;
};

std::string normalised_text(const CheckedSpec& spec) {
  std::string text;
  if (!spec.score_from.path.empty()) text += print_normalised(spec, HookKind::score_mod);
  if (!spec.mask_from.path.empty()) text += print_normalised(spec, HookKind::mask_mod);
  return text.empty() ? "no hook of this spec comes from a file\n" : text;
}

/// Whether the stage has a value of its own for the backward pass.
bool is_of_backward(std::string_view stage) { return stage == "plan" || stage == "source" || stage == "ptx"; }

std::string backward_text(const EmitArguments& arguments, const CheckedSpec& spec, const Compiled& compiled,
                          const Target& target) {
  if (target.is_host()) {
    if (arguments.stage == "plan") return compiled.choice.plan.print() + "\nthat of the forward pass\n";
    HostIr code = emit_backward_for_host(spec, compiled, target);
    return arguments.stage == "source" ? code.print() : host_asm(std::move(code));
  }
  const BackwardPlan plan = arguments.backward.plan(spec, compiled, target);
  if (arguments.stage == "plan") return plan.print() + "\n";
  const Source source = emit_backward_for_gpu(spec, compiled, plan, target);
  if (arguments.stage == "source") return source.text;
  const Progress progress("building with NVRTC");
  return build_source(source).ptx;
}

/// The plan for large calls, then the table where there are several.
std::string plan_text(const CheckedSpec& spec, const Compiled& compiled, const Target& target) {
  std::string text = compiled.choice.plan.print() + "\n" + compiled.choice.why + "\n";
  if (compiled.plans.size() > 1)
    for (const std::string& line : print_table(show_table(compiled.plans, spec, compiled.facts, target)))
      text += line + "\n";
  return text;
}

std::string stage_text(const EmitArguments& arguments, const Spec& spec) {
  const auto& checked = spec.checked();
  if (arguments.stage == "import") return normalised_text(checked);
  if (arguments.stage == "ast") return print_ast(import_hooks(checked));
  if (arguments.stage == "derive") return derive(checked, lower(checked)).print();
  const Target& target = arguments.gpu.empty() ? default_gpu_target() : named_target(arguments.gpu);
  const bool is_backward = arguments.backward.asked && is_of_backward(arguments.stage);
  const Compiled compiled = front_end(spec, target, arguments.impl.plan(arguments.plan),
                                      is_backward ? Passes::forward_and_backward : Passes::forward);
  if (is_backward) return backward_text(arguments, checked, compiled, target);
  if (arguments.stage == "ir") return compiled.print_ir();
  if (arguments.stage == "facts") return compiled.facts.print();
  if (arguments.stage == "plan") return plan_text(checked, compiled, target);
  const bool is_source = arguments.stage == "source";
  if (target.is_host()) {
    HostIr code = emit_for_host(checked, compiled, target);
    return is_source ? code.print() : host_asm(std::move(code));
  }
  if (is_source) return compiled.source->text;
  const Progress progress("building with NVRTC");
  return build_source(*compiled.source).ptx;
}

int run_emit(const EmitArguments& arguments) {
  arguments.backward.check();
  arguments.json.check_apart_from({arguments.spec_path}, "SPEC");
  arguments.json.check_apart_from({arguments.output}, "--output");
  const Spec spec = arguments.spec.load(arguments.spec_path);
  check_apart_from_spec(arguments.output, "--output", spec);
  check_apart_from_spec(arguments.json.file(), "--json", spec);
  for (const auto& warning : spec.warnings()) report_diagnostic(warning);
  std::string text = stage_text(arguments, spec);
  if (text.empty() || text.back() != '\n') text += '\n';
  if (!arguments.output.empty()) write_output(arguments.output, text);
  arguments.json.write({{"spec", spec.name()},
                        {"file", spec_file_name(arguments.spec_path)},
                        {"stage", arguments.stage},
                        {"backward", arguments.backward.asked},
                        {"text", text}});
  if (arguments.output.empty() && arguments.json.shows_text()) fmt::print("{}", text);
  return kOk;
}

}  // namespace

void add_emit_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<EmitArguments>();
  CLI::App* const command = app.add_subcommand(
      "emit", "Print one stage of the compiler: import, ast, ir, facts, derive, plan, source, ptx");
  command->footer(kEmitFooter);
  command->add_option("SPEC", arguments->spec_path, "Spec file (.fa), or - for standard input")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--stage", arguments->stage,
                   "import, ast, ir, facts, derive, plan, source or ptx [source]")
      ->check(one_of({"import", "ast", "ir", "facts", "derive", "plan", "source", "ptx"}))
      ->type_name("STAGE");
  command->add_option("-o,--output", arguments->output, "Write here instead of to stdout")
      ->type_name("FILE")
      ->check(output_name());
  arguments->backward.declare(*command, "The backward pass's plan, source or ptx");
  arguments->spec.declare(*command);
  command->add_option("--gpu", arguments->gpu, "Target: " + target_names())
      ->type_name("NAME")
      ->check(suggested(target_words(true)))
      ->group("Device");
  command
      ->add_option("--plan", arguments->plan,
                   "Force a plan, or parts of one that the model completes: \"tile_q=128 tile_kv=64\"")
      ->type_name("PLAN")
      ->group("Device");
  arguments->impl.declare(*command);
  arguments->json.declare(*command, "the stage's text, with what it is of,");
  command->callback([arguments, &action] { action = [arguments] { return run_emit(*arguments); }; });
}

}  // namespace fa::tools
