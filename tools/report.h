// What the command says on stderr: rendered diagnostics, errors, progress; colour only where a terminal reads
// it.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "fa/error.h"

namespace fa::tools {

void report_diagnostic(const Diagnostic& diagnostic);
/// "facet: error: message", then "help: remedy" where there is one (several lines stand as they are).
void report_error(std::string_view message, std::string_view remedy = {});
void report_warning(std::string_view message);

/// One line on stderr that says what is being done and how far it is; only on a terminal, and gone when done.
/// `update` may be called from any thread, as often as is convenient.
class Progress {
 public:
  explicit Progress(std::string label);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(double done);  // in [0, 1]
  void relabel(std::string label);

 private:
  void draw();

  bool enabled_;
  std::mutex mutex_;
  std::string label_;
  double done_ = 0;
  std::chrono::steady_clock::time_point last_drawn_{};
};

}  // namespace fa::tools
