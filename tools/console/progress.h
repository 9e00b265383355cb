// Long work says on stderr what it is doing, what is done and what is left: in one line, which it rewrites on
// a terminal alone, and removes at the end. The parts of the line are objects: the last one made stands last.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace fa::tools {

/// A part of the line. One thread makes and destroys parts; any may say how far they are.
class ProgressPart {
 public:
  ProgressPart(const ProgressPart&) = delete;
  ProgressPart& operator=(const ProgressPart&) = delete;
  /// As it is shown now.
  virtual std::string text() const = 0;

 protected:
  ProgressPart() = default;
  virtual ~ProgressPart() = default;
  /// The last thing that a constructor does, and the first of a destructor: another thread may draw the line.
  void add();
  void remove();
};

/// What is being done, with a bar once it is known how far it is: "building [######......] 50%".
class Progress final : public ProgressPart {
 public:
  explicit Progress(std::string label);
  ~Progress() override;

  /// From any thread, as often as is convenient: the share that is done, in [0, 1].
  void update(double done);
  void relabel(std::string label);

  std::string text() const override;

 private:
  std::string label_;
  double done_ = 0;
};

/// How many of many things are done: "[3 of 24 done, about 40 s left] specs/causal.fa".
class Steps final : public ProgressPart {
 public:
  explicit Steps(std::size_t of);
  ~Steps() override;

  /// The next one begins; with it one more is done.
  void next(std::string label = {});

  std::string text() const override;

 private:
  std::size_t done_ = 0, of_;
  bool is_begun_ = false;
  std::string label_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// While one lives the line is gone, so that something else can be printed on the same terminal.
class ProgressHidden {
 public:
  ProgressHidden();
  ~ProgressHidden();
  ProgressHidden(const ProgressHidden&) = delete;
  ProgressHidden& operator=(const ProgressHidden&) = delete;
};

}  // namespace fa::tools
