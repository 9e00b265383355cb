// Runs the facet command and the examples, which lie next to the tests.
#pragma once

#include <string>
#include <vector>

namespace fa::tools {

struct CommandResult {
  int status = -1;
  std::string out, err;
};

/// Runs `facet` with `arguments`, without a shell or a terminal, with a cache folder of the tests.
CommandResult facet(const std::vector<std::string>& arguments);

/// The same for any program beside the tests, with `settings` ("NAME=value") in its environment.
CommandResult run_program(const std::string& name, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& settings = {});
/// Runs a script by bash, with redirections, pipes and limits as a user would write them. "$FACET" is the
/// command, "$SPECS" the folder of the specs.
CommandResult shell(const std::string& script);
std::string program_path(const std::string& name);

/// Says which of `parts` is the first that `text` lacks; empty where it has them all.
std::string missing(const std::string& text, const std::vector<std::string>& parts);
/// `text` where it does not start with `start`, else empty.
std::string without_start(const std::string& text, const std::string& start);
std::string first_line(const std::string& text);
/// "specs/causal.fa" -> its path in the checkout.
std::string source_path(const std::string& path);
std::string causal_path();

/// The words of a `facet run` on the host with 2 heads of 70 rows and head_dim 16, which takes milliseconds.
/// `words` come after `run`, `more` at the end.
std::vector<std::string> small_run(std::vector<std::string> words, const std::vector<std::string>& more = {});

}  // namespace fa::tools
