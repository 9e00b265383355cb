// The facet command: one function a subcommand, each in its own file. A subcommand declares its options on
// `app` and sets `action`, which is run once the whole command line has been read; it returns the exit
// status.
#pragma once

#include <array>
#include <functional>
#include <string_view>

namespace CLI {
class App;
}

namespace fa::tools {

/// The exit status: kOk only where everything that was asked for succeeded.
enum ExitStatus : int { kOk = 0, kFailed = 1, kBadInput = 2, kInterrupted = 130 };

/// What `facet cache` does, by the word that asks for it.
constexpr std::array<std::string_view, 4> kCacheWords = {"stats", "list", "clear", "path"};

using Action = std::function<int()>;

void add_check_command(CLI::App& app, Action& action);
void add_explain_command(CLI::App& app, Action& action);
void add_emit_command(CLI::App& app, Action& action);
void add_run_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);
void add_tune_command(CLI::App& app, Action& action);
void add_build_command(CLI::App& app, Action& action);
void add_bundle_command(CLI::App& app, Action& action);
void add_cache_command(CLI::App& app, Action& action);
void add_completion_command(CLI::App& app, Action& action);
void add_help_command(CLI::App& app, Action& action);

/// Reads the command line and sets `action`; leaves it empty where only help is asked for. Returns the exit
/// status so far: kBadInput where the command line is wrong, after a message.
int read_command_line(int argc, const char* const* argv, Action& action);
/// Runs an action; turns what it throws into a message and an exit status.
int run_action(const Action& action);
/// What main calls: reads the command line, runs the subcommand, turns errors into messages and an exit
/// status.
int run_facet(int argc, const char* const* argv);

}  // namespace fa::tools
