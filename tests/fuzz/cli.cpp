// The command line, one word per line. Any command line is carried out, or refused with a message and status
// 2.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <vector>

#include "tests/fuzz/targets.h"
#include "tests/tools/temporary.h"
#include "tools/command/commands.h"

namespace fa::fuzz {
namespace {

using namespace tools;

/// The file that the words `t.fa` stand for.
const std::string& spec_path() {
  static const TemporaryFolder folder;
  static const std::string path =
      folder.write("t.fa",
                   "attention t\nhead_dim 64\ndtype f16\nparam window : i32 = 8\nparam bend : f32 = 1.5\n"
                   "tensor doc : i32[batch, kv_len] = i1 / 64\nscore_mod = score * bend\n"
                   "mask_mod = q_idx - kv_idx < window and doc[b, kv_idx] == doc[b, q_idx]\n");
  return path;
}

std::vector<std::string> command_line_of(std::string_view bytes) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    words.emplace_back(bytes.substr(at, end - at));
    if (words.back() == "t.fa") words.back() = spec_path();
    at = end + 1;
  }
  return words;
}

/// Whether the command is run, and not only parsed. It is where the command writes no file, uses no compiler
/// of NVIDIA's, reads nothing but the spec, and takes no time that grows with the numbers.
bool is_harmless(const std::vector<std::string>& words) {
  const bool is_known = words[0] == "explain" || words[0] == "emit" || words[0] == "check";
  const auto json = std::ranges::find_if(words, [](const auto& word) { return word.starts_with("--json"); });
  const bool writes_json = json != words.end() && (*json != "--json" || json + 1 != words.end());
  return is_known && !writes_json && std::ranges::all_of(words, [](const std::string& word) {
           const bool is_path = word.find('/') != word.npos && word != spec_path();
           const bool is_short_option = word.starts_with('-') && !word.starts_with("--");
           return !is_path && !is_short_option && word.find("ptx") == word.npos &&
                  !word.starts_with("--output") && !word.starts_with("--map") &&
                  !word.starts_with("--build") && !word.starts_with("--tiles");
         });
}

/// Redirects a standard stream to a file while the object exists.
class Redirected {
 public:
  Redirected(int descriptor, int to) : descriptor_(descriptor), saved_(dup(descriptor)) {
    flush();
    dup2(to, descriptor);
  }
  ~Redirected() {
    flush();
    dup2(saved_, descriptor_);
    close(saved_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  static void flush() {
    std::cout.flush();
    std::fflush(stdout);
    std::fflush(stderr);
  }
  int descriptor_, saved_;
};

}  // namespace

void fuzz_cli(std::string_view bytes) {
  const std::vector<std::string> words = command_line_of(bytes);
  if (words.empty()) return;
  std::vector<const char*> argv = {"facet"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::FILE* const said = std::tmpfile();
  int status = 0;
  {
    const Redirected out(STDOUT_FILENO, fileno(said)), err(STDERR_FILENO, fileno(said));
    Action action;
    status = read_command_line(static_cast<int>(argv.size()), argv.data(), action);
    require(status == kOk || !action, "a refused command line is carried out");
    if (action && is_harmless(words)) status = run_action(action);
  }
  const bool is_silent = lseek(fileno(said), 0, SEEK_END) == 0;
  std::fclose(said);
  require(status == kOk || status == kBadInput, "neither done nor bad input");
  require(status == kOk || !is_silent, "refused without a word");
}

}  // namespace fa::fuzz
