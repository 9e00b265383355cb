// Progress of long work on stderr, in one line: what it is doing, what is done and what is left. The line
// appears only on a terminal, is rewritten there, and is removed at the end. Its parts are objects; the
// newest stands last.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace fa::tools {

/// A part of the line. One thread creates and destroys parts; any thread may report progress.
class ProgressPart {
 public:
  ProgressPart(const ProgressPart&) = delete;
  ProgressPart& operator=(const ProgressPart&) = delete;
  /// The part's text as it is shown now.
  virtual std::string text() const = 0;

 protected:
  ProgressPart() = default;
  virtual ~ProgressPart() = default;
  /// Called last in a constructor and first in a destructor, since another thread may draw the line.
  void add();
  void remove();
};

/// What is being done, with a bar once the share is known: "building [######......] 50%"; before, with the time
/// that it has taken: "building, 12 s".
class Progress final : public ProgressPart {
 public:
  explicit Progress(std::string label);
  ~Progress() override;

  /// Sets the share that is done, in [0, 1]. Any thread may call it, as often as is convenient.
  void update(double done);
  void relabel(std::string label);
  /// Both at once, for labels that say how much is done.
  void show(std::string label, double done);

  std::string text() const override;

 private:
  std::string label_;
  double done_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// How many things are done out of how many: "[3 of 24 done, about 40 s left] specs/causal.fa".
class Steps final : public ProgressPart {
 public:
  explicit Steps(std::size_t of);
  ~Steps() override;

  /// Begins the next thing; the one before is done.
  void next(std::string label = {});

  std::string text() const override;

 private:
  std::size_t done_ = 0, of_;
  bool is_begun_ = false;
  std::string label_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), step_start_ = start_;
};

/// While an object of this class exists the line is hidden, so that something else can be printed on the
/// terminal.
class ProgressHidden {
 public:
  ProgressHidden();
  ~ProgressHidden();
  ProgressHidden(const ProgressHidden&) = delete;
  ProgressHidden& operator=(const ProgressHidden&) = delete;
};

}  // namespace fa::tools
