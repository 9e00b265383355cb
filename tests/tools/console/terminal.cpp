// A pseudo-terminal, and as much of a terminal as the command's lines need.
#include "tests/tools/console/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

#include "tests/tools/command/command.h"

namespace fa::tools {

Terminal::Terminal(const std::string& script, bool stdout_too, int columns) {
  const std::string out = folder_.file("out"), facet_path = program_path("facet"),
                    specs = source_path("specs"), cache = folder_.file("cache");
  winsize size = {
      .ws_row = 24, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
  child_ = forkpty(&master_, nullptr, nullptr, &size);
  if (child_ < 0) throw std::runtime_error("there is no pseudo-terminal");
  if (child_ > 0) return;
  termios settings = {};
  tcgetattr(STDIN_FILENO, &settings);
  settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);  // keys are not shown: what is shown is the command's
  tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  if (!stdout_too && dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO) < 0)
    _exit(127);
  setenv("FACET", facet_path.c_str(), 1);
  setenv("SPECS", specs.c_str(), 1);
  setenv("FA_CACHE_DIR", cache.c_str(), 1);
  setenv("TERM", "xterm", 0);
  setenv("NO_COLOR", "1", 1);
  for (const char* variable : {"FA_DEVICE", "FA_PLAN"}) unsetenv(variable);
  execl("/bin/bash", "bash", "-c", script.c_str(), nullptr);
  _exit(127);
}

Terminal::~Terminal() {
  if (child_ > 0) {
    kill(-child_, SIGKILL);  // the script and what it started: a terminal's first process leads a group
    waitpid(child_, nullptr, 0);
  }
  if (master_ >= 0) close(master_);
}

bool Terminal::read_some(int milliseconds) {
  pollfd asked = {.fd = master_, .events = POLLIN, .revents = 0};
  if (poll(&asked, 1, milliseconds) <= 0) return true;
  char part[4096];
  const ssize_t got = read(master_, part, sizeof part);
  if (got <= 0) return false;  // nobody has the terminal open any more
  shown_.append(part, static_cast<std::size_t>(got));
  return true;
}

bool Terminal::wait_for(const std::string& text, const std::string& after) {
  const auto is_there = [&] {
    const std::size_t from = shown_.find(after);
    return from != std::string::npos && shown_.find(text, from) != std::string::npos;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!is_there())
    if (std::chrono::steady_clock::now() > until || !read_some(100)) return is_there();
  return true;
}

void Terminal::press(const std::string& keys) {
  [[maybe_unused]] const ssize_t written = write(master_, keys.data(), keys.size());
}

int Terminal::finish() {
  while (read_some(1000)) {
  }
  int status = 0;
  waitpid(child_, &status, 0);
  child_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<std::string> rendered(const std::string& bytes, int columns) {
  std::vector<std::string> lines(1);
  std::size_t row = 0, column = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    if (c == '\r') {
      column = 0;
    } else if (c == '\n') {
      ++row;
    } else if (c == '\x1b') {
      const std::size_t end = bytes.find_first_of("Km", at);
      if (end == std::string::npos) break;
      if (bytes[end] == 'K') lines[row].resize(std::min(column, lines[row].size()));
      at = end;
    } else {
      if (column == static_cast<std::size_t>(columns)) ++row, column = 0;
      if (lines.size() <= row) lines.resize(row + 1);
      if (lines[row].size() <= column) lines[row].resize(column + 1, ' ');
      lines[row][column++] = c;
    }
    if (lines.size() <= row) lines.resize(row + 1);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace fa::tools
