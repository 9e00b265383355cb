// Reads the command line, runs one subcommand, and turns what was thrown into a message and an exit status.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/spec/words.h"
#include "fa/bundle.h"
#include "tools/commands.h"
#include "tools/report.h"
#include "tools/version.h"

namespace fa::tools {

namespace {

constexpr const char* kAbout =
    "facet compiles attention variants, written as short specs, to fused kernels for this GPU or CPU.";

constexpr const char* kFooter = R"(
Start here:
  facet run specs/sliding_window_alibi.fa --verify    compute it, and check it against fp64
  facet explain specs/causal.fa --gpu h100            what the compiler knows and decides, and why
  facet bench specs/*.fa --q-len 1024,4096            how fast each variant is here
  facet build specs/*.fa --arch sm_80,sm_90 -o out/   kernels for GPUs that are elsewhere

Exit status: 0 where everything asked for held, 2 for bad input (a spec, an option, a file), 1 for other failures.
FA_* environment variables: docs/environment.md. The language: docs/spec_language.md.
Where Facet is installed, docs/ is share/doc/facet/docs and specs/ is share/facet/specs, beside bin/.)";

/// Says what is wrong with a command line that begins with `word`, and where to look.
void report_command_line(const CLI::App& app, const std::string& word, const std::string& problem) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->check_name(word)) {
      report_error(problem, fmt::format("`facet {} --help` lists what it takes", word));
      return;
    }
    names.push_back(command->get_name());
  }
  if (word.starts_with('-')) {
    report_error(problem, "`facet --help` lists the commands");
    return;
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string meant = closest(word, known);
  report_error(
      fmt::format("there is no command '{}'", word),
      meant.empty() ? "`facet --help` lists the commands" : fmt::format("did you mean `facet {}`?", meant));
}

}  // namespace

int read_command_line(int argc, const char* const* argv, Action& action) {
  // `facet help COMMAND` is `facet COMMAND --help`.
  std::vector<const char*> words(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  CLI::App app(kAbout, "facet");
  app.footer(kFooter);
  app.set_version_flag("-v,--version", version_text());
  app.require_subcommand(1);
  add_check_command(app, action);
  add_explain_command(app, action);
  add_emit_command(app, action);
  add_run_command(app, action);
  add_bench_command(app, action);
  add_build_command(app, action);
  add_bundle_command(app, action);
  add_cache_command(app, action);

  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    action = nullptr;                                        // a subcommand may have been read before
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    if (argc <= 1) {
      std::fputs(app.help().c_str(), stderr);
      return kBadInput;
    }
    report_command_line(app, words[1], error.what());
    return kBadInput;
  }
  return kOk;
}

int run_action(const Action& action) {
  try {
    return action();
  } catch (const SpecError& error) {
    for (const auto& diagnostic : error.diagnostics()) report_diagnostic(diagnostic);
    return kBadInput;
  } catch (const ArgumentError& error) {
    report_error(error.what());
    return kBadInput;
  } catch (const BundleError& error) {
    report_error(error.what());
    return kBadInput;
  } catch (const BuildError& error) {
    report_error(error.what(), error.log());
    return kFailed;
  } catch (const InternalError& error) {
    report_error(error.what(), "this is a bug in facet: please report it with this message and the spec");
    return kFailed;
  } catch (const std::bad_alloc&) {
    report_error("out of memory", "try smaller --batch, --heads, --q-len or --kv-len");
    return kFailed;
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return kFailed;  // printing failed: said once, at the end of main
    report_error(error.what());
    return kFailed;
  }
}

int run_facet(int argc, const char* const* argv) {
  Action action;
  const int status = read_command_line(argc, argv, action);
  return status == kOk && action ? run_action(action) : status;
}

}  // namespace fa::tools
