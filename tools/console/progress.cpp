// Draws the line of progress, and decides which thread may write when.
#include "tools/console/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tools/console/standard_streams.h"
#include "tools/console/text.h"

namespace fa::tools {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTick{1};  // what no one reports on is drawn again so often: its time goes on

struct Line {
  std::mutex mutex;
  std::vector<const ProgressPart*> parts;
  int hidden = 0;
  bool is_shown = false;
  Clock::time_point last_drawn{};
  std::condition_variable_any has_changed;
  bool is_ticking = false;
  std::jthread ticker;  // last: it ends before what it uses
};

Line& line() {
  static Line the_line;
  return the_line;
}

/// Whether stderr is a terminal that can rewrite a line.
bool is_enabled() {
  static const bool enabled = [] {
    const char* const term = std::getenv("TERM");
    return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
  }();
  return enabled;
}

void put_line(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::size_t columns() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

/// As much as fits into the line: the rest would stand in a second line, which would stay.
std::string cut(std::string text, std::size_t most) {
  std::size_t shown = 0, at = 0;
  for (; at < text.size(); ++at) {
    const bool begins_letter = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;  // of UTF-8
    if (begins_letter && shown++ == most) break;
  }
  text.resize(at);
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r' || c == '\t' || c == '\x1b'; }, '?');
  return text;
}

void erase(Line& l) {
  if (std::exchange(l.is_shown, false)) put_line("\r\x1b[K");
}

/// The caller holds the mutex.
void draw_locked(Line& l) {
  if (!is_enabled() || l.hidden > 0) return;
  std::string text;
  for (const ProgressPart* part : l.parts) {
    const std::string of_part = part->text();
    if (!text.empty() && !of_part.empty()) text += ' ';
    text += of_part;
  }
  if (text.empty()) return erase(l);
  l.last_drawn = Clock::now();
  l.is_shown = true;
  put_line("\r\x1b[K" + cut(std::move(text), columns() - 1));
}

/// Draws the line again and again while it has parts.
void tick(const std::stop_token& stop) {
  Line& l = line();
  std::unique_lock lock(l.mutex);
  while (!stop.stop_requested()) {
    if (l.parts.empty())
      l.has_changed.wait(lock, stop, [&] { return !l.parts.empty(); });
    else if (!l.has_changed.wait_for(lock, stop, kTick, [&] { return l.parts.empty(); }) &&
             Clock::now() - l.last_drawn >= kTick)
      draw_locked(l);
  }
}

/// The caller holds the mutex. Where no thread can be had, the line is drawn when something is reported.
void start_ticking_locked(Line& l) {
  if (!is_enabled() || std::exchange(l.is_ticking, true)) return;
  try {
    l.ticker = std::jthread(tick);
  } catch (const std::system_error&) {
  }
}

/// "" in the first seconds, then ", 12 s".
std::string print_passed(Clock::time_point start) {
  constexpr double kTooShort = 3;  // seconds that nobody asks about
  const std::chrono::duration<double> passed = Clock::now() - start;
  return passed.count() < kTooShort ? "" : fmt::format(", {:.0f} s", passed.count());
}

}  // namespace

void ProgressPart::add() {
  const std::lock_guard lock(line().mutex);
  line().parts.push_back(this);
  start_ticking_locked(line());
  line().has_changed.notify_all();
  draw_locked(line());
}

void ProgressPart::remove() {
  const std::lock_guard lock(line().mutex);
  std::erase(line().parts, this);
  line().has_changed.notify_all();
  erase(line());
  draw_locked(line());
}

Progress::Progress(std::string label) : label_(std::move(label)) { add(); }

Progress::~Progress() { remove(); }

void Progress::update(double done) {
  if (!is_enabled()) return;
  const std::lock_guard lock(line().mutex);
  done_ = std::max(done_, done);
  if (Clock::now() - line().last_drawn > std::chrono::milliseconds(50)) draw_locked(line());
}

void Progress::relabel(std::string label) {
  const std::lock_guard lock(line().mutex);
  label_ = std::move(label);
  done_ = 0;
  start_ = Clock::now();
  draw_locked(line());
}

void Progress::show(std::string label, double done) {
  const std::lock_guard lock(line().mutex);
  label_ = std::move(label);
  done_ = done;
  draw_locked(line());
}

std::string Progress::text() const {
  if (done_ <= 0) return label_ + print_passed(start_);
  constexpr int kWidth = 24;
  const int full = static_cast<int>(std::clamp(done_, 0.0, 1.0) * kWidth);
  return fmt::format("{} [{}{}] {:.0f}%", label_, std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(kWidth - full), '.'), done_ * 100);
}

Steps::Steps(std::size_t of) : of_(of) { add(); }

Steps::~Steps() { remove(); }

void Steps::next(std::string label) {
  const std::lock_guard lock(line().mutex);
  if (std::exchange(is_begun_, true)) ++done_;
  label_ = std::move(label);
  step_start_ = Clock::now();
  draw_locked(line());
}

std::string Steps::text() const {
  const std::string label = label_.empty() ? "" : label_ + print_passed(step_start_);
  if (of_ < 2) return label;
  constexpr double kTooEarly =
      2;  // seconds: an earlier estimate would be a guess, and work is often over by then
  const std::chrono::duration<double> passed = Clock::now() - start_;
  std::string left;
  if (done_ > 0 && passed.count() > kTooEarly) {
    const double seconds =
        passed.count() / static_cast<double>(done_) * static_cast<double>(of_ - std::min(done_, of_));
    left = seconds < 90 ? fmt::format(", about {:.0f} s left", std::ceil(seconds))
                        : fmt::format(", about {:.0f} min left", std::ceil(seconds / 60));
  }
  return fmt::format("[{} of {} done{}]{}{}", done_, of_, left, label.empty() ? "" : " ", label);
}

ProgressHidden::ProgressHidden() {
  const std::lock_guard lock(line().mutex);
  if (line().hidden++ == 0) erase(line());
}

ProgressHidden::~ProgressHidden() {
  const std::lock_guard lock(line().mutex);
  if (--line().hidden > 0) return;
  flush_stdout();  // or the line would be drawn before text that was printed meanwhile
  draw_locked(line());
}

}  // namespace fa::tools
