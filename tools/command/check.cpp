// facet check: reads specs, and reports everything that is wrong with them or may surprise.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "compiler/derive/derive.h"
#include "tools/command/commands.h"
#include "tools/command/json_option.h"
#include "tools/command/spec_file.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress.h"
#include "tools/console/report.h"
#include "tools/console/text.h"
#include "tools/problem/describe.h"
#include "tools/tiles/mask_lints.h"

namespace fa::tools {

namespace {

constexpr const char* kCheckFooter = R"(
Prints an `ok` line for each good spec on stdout and every finding on stderr, as file:line:col.
The `ok` line names what is marked `grad`, of which the backward pass gives gradients.
Warnings do not fail, unless --strict is given. Besides the spec's own (an unused param), they are: a row that keeps no
key, a mask that keeps every key or none, a read that has to be clamped into its tensor, a mask that could skip tiles
but is written so that none can be. Each is proved, or shown by an element of a small problem with the default params
and the example tensors.

Examples:
  facet check specs/*.fa
  facet check my_mask.fa --strict
  facet check my_mask.fa --json | jq '.[].diagnostics[].message')";

struct CheckArguments {
  std::vector<std::string> specs;
  bool strict = false;
  JsonOption json;
};

struct Checked {
  std::string path;
  std::optional<Spec> spec;
  std::vector<Diagnostic> diagnostics;
  bool failed = false;  // not the spec's fault; the other files are still checked

  void fail(std::string message) {
    failed = true;
    spec.reset();
    diagnostics = {{.place = {.file = path}, .message = std::move(message)}};
  }
};

/// What the backward pass gives gradients of, besides q, k and v: the names, params first.
std::vector<std::string> names_of_gradients(const Spec& spec) {
  std::vector<std::string> names;
  for (const ParamInfo& param : spec.params())
    if (param.grad) names.push_back(param.name);
  for (const TensorInfo& tensor : spec.tensors())
    if (tensor.grad) names.push_back(tensor.name);
  return names;
}

Checked check_spec(const std::string& path) {
  Checked result{.path = spec_file_name(path), .spec = std::nullopt, .diagnostics = {}};
  try {
    result.spec = read_spec(path);
    result.diagnostics = result.spec->warnings();
    for (Diagnostic& warning : lint(*result.spec)) result.diagnostics.push_back(std::move(warning));
    if (!names_of_gradients(*result.spec).empty())
      derive(result.spec->checked(), lower(result.spec->checked()));
  } catch (const SpecError& error) {
    result.spec.reset();
    result.diagnostics = error.diagnostics();
  } catch (const std::bad_alloc&) {
    result.fail("out of memory");
  } catch (const std::exception& error) {
    result.fail(error.what());
  }
  return result;
}

nlohmann::json to_json(const Checked& checked, bool ok) {
  nlohmann::json found = nlohmann::json::array();
  for (const auto& diagnostic : checked.diagnostics) {
    found.push_back({{"severity", diagnostic.severity == Diagnostic::Severity::error ? "error" : "warning"},
                     {"file", diagnostic.place.file},
                     {"line", diagnostic.place.line},
                     {"column", diagnostic.place.column},
                     {"message", diagnostic.message},
                     {"remedy", diagnostic.remedy}});
  }
  nlohmann::json result{{"file", checked.path}, {"ok", ok}, {"diagnostics", found}};
  if (checked.spec) result["name"] = checked.spec->name();
  if (checked.spec) result["gradients"] = names_of_gradients(*checked.spec);
  return result;
}

int run_check(const CheckArguments& arguments) {
  bool all_ok = true, any_failed = false;
  arguments.json.check_apart_from(arguments.specs, "SPEC");
  arguments.json.prepare();
  nlohmann::json report = nlohmann::json::array();
  const Interruptible interruptible;
  Steps steps(arguments.specs.size());
  for (const auto& path : arguments.specs) {
    if (is_interrupted()) break;
    steps.next(spec_file_name(path));
    const Checked checked = check_spec(path);
    const bool ok = checked.spec && (!arguments.strict || checked.diagnostics.empty());
    all_ok = all_ok && ok;
    any_failed = any_failed || checked.failed;
    report.push_back(to_json(checked, ok));
    if (!arguments.json.shows_text()) continue;
    const ProgressHidden hidden;
    for (const auto& diagnostic : checked.diagnostics) report_diagnostic(diagnostic);
    if (!ok) continue;
    const Spec& spec = *checked.spec;
    const std::string dims = spec.head_dim() == spec.head_dim_v()
                                 ? fmt::format("{}", spec.head_dim())
                                 : fmt::format("{}/{}", spec.head_dim(), spec.head_dim_v());
    const std::vector<std::string> gradients = names_of_gradients(spec);
    fmt::print("{} {}: {}, head_dim {}, {}{}\n", styled("ok", Style::green, takes_colour(STDOUT_FILENO)),
               checked.path, spec.name(), dims, dtype_name(spec.dtype()),
               gradients.empty() ? "" : fmt::format(", gradients of {}", fmt::join(gradients, ", ")));
  }
  const ProgressHidden hidden;
  arguments.json.write(report);
  if (report.size() < arguments.specs.size()) {
    report_error(
        fmt::format("interrupted: {} of {} specs are checked", report.size(), arguments.specs.size()));
    return kInterrupted;
  }
  return any_failed ? kFailed : all_ok ? kOk : kBadInput;
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* const command = app.add_subcommand("check", "Check specs and print every finding");
  command->footer(kCheckFooter);
  command->add_option("SPEC", arguments->specs, "Spec files (.fa), or - for standard input")
      ->type_name("FILE")
      ->required();
  command->add_flag("--strict", arguments->strict, "Count warnings as errors");
  arguments->json.declare(*command, "the findings");
  command->callback([arguments, &action] { action = [arguments] { return run_check(*arguments); }; });
}

}  // namespace fa::tools
