// Runs a program as a process and collects its output.
#include "tests/tools/command/command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "tests/tools/temporary.h"

namespace fa::tools {

namespace {

const TemporaryFolder& cache_folder() {
  static const TemporaryFolder folder;
  return folder;
}

/// This process's environment, without the variables that would change the command's output.
std::vector<std::string> command_environment() {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool replaced = text.starts_with("FA_CACHE_DIR=") || text.starts_with("FA_DEVICE=") ||
                          text.starts_with("FA_PLAN=") || text.starts_with("LC_ALL=");
    if (!replaced) result.emplace_back(text);
  }
  result.push_back("FA_CACHE_DIR=" + cache_folder().file("cache"));
  result.emplace_back("LC_ALL=C");
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Runs the program with this path.
CommandResult run_path(const std::string& program, const std::vector<std::string>& arguments,
                       const std::vector<std::string>& settings) {
  const TemporaryFolder folder;
  const std::string out = folder.file("out");
  const std::string err = folder.file("err");

  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = settings;  // where a variable is set twice, the first setting counts
  for (auto& setting : command_environment()) environment.push_back(std::move(setting));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, pointers(words).data(),
                                 pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error(program + " cannot be started");
  int status = 0;
  waitpid(child, &status, 0);

  CommandResult result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_file(out);
  result.err = read_file(err);
  return result;
}

}  // namespace

std::string program_path(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

CommandResult run_program(const std::string& name, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& settings) {
  const std::string program = program_path(name);
  if (!std::filesystem::exists(program))
    throw std::runtime_error(program + " is missing: build the target `" + name + "`");
  return run_path(program, arguments, settings);
}

CommandResult shell(const std::string& script) {
  return run_path("/bin/bash", {"-c", script},
                  {"FACET=" + program_path("facet"), "SPECS=" + source_path("specs")});
}

CommandResult facet(const std::vector<std::string>& arguments) { return run_program("facet", arguments); }

std::string missing(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& part : parts) {
    if (text.find(part) == std::string::npos) return "no '" + part + "' in: " + text;
  }
  return {};
}

std::string without_start(const std::string& text, const std::string& start) {
  return text.starts_with(start) ? std::string() : text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string source_path(const std::string& path) { return std::string(FA_SOURCE_DIR) + "/" + path; }

std::string causal_path() { return source_path("specs/causal.fa"); }

std::vector<std::string> small_run(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.begin(), "run");
  for (const char* word : {"--device", "host", "--q-len", "70", "--heads", "2", "--head-dim", "16"})
    words.emplace_back(word);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace fa::tools
