#include "tools/console/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tools/command/commands.h"
#include "tools/console/report.h"

namespace fa::tools {
namespace {

/// Opens /dev/null as a closed descriptor, but for the wrong direction, so that reading or writing it still
/// fails.
void take_if_closed(int descriptor, int flags) {
  if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) return;
  const int opened =
      open("/dev/null", flags);  // the lowest that is free: `descriptor`, as lower ones are taken
  if (opened >= 0 && opened != descriptor) close(opened);
}

int first_error = 0;  // errno of stdout

struct Arrival {
  bool all = true;
  int error = 0;  // the errno; 0 where an earlier write failed and its errno is lost
};

/// Writes what `stream` still buffers. Returns whether everything that was ever written to it has arrived.
Arrival flush(std::FILE* stream) {
  errno = 0;
  if (std::fflush(stream) != 0 || std::ferror(stream) != 0) return {false, errno};
  const int copy = dup(fileno(stream));  // some file systems report only at a close what they could not write
  if (copy >= 0 && close(copy) != 0) return {false, errno};
  return {};
}

/// Whether this is a pipe or a socket whose reader has left.
bool is_abandoned(int descriptor) {
  pollfd asked = {.fd = descriptor, .events = POLLOUT, .revents = 0};
  return poll(&asked, 1, 0) == 1 && (asked.revents & POLLERR) != 0;
}

}  // namespace

void note_stdout_error(int error) {
  if (first_error == 0) first_error = error;
}

void flush_stdout() {
  errno = 0;
  if (std::fflush(stdout) != 0) note_stdout_error(errno);
}

void prepare_standard_streams() {
  take_if_closed(STDIN_FILENO, O_WRONLY);
  take_if_closed(STDOUT_FILENO, O_RDONLY);
  take_if_closed(STDERR_FILENO, O_RDONLY);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

int finish_standard_streams(int status) {
  Arrival out = flush(stdout);
  if (out.error == 0) out.error = first_error;
  if (!out.all && !is_abandoned(STDOUT_FILENO)) {
    report_error(out.error == 0 ? "stdout: cannot be written"
                                : fmt::format("stdout: cannot be written: {}", std::strerror(out.error)),
                 "what was to be printed is lost in part or whole: send it elsewhere, and run this again");
  }
  const bool all_arrived = flush(stderr).all && out.all;
  return all_arrived || status != kOk ? status : kFailed;
}

}  // namespace fa::tools
