#include "tests/runtime/system/faults.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace fa::tests {
namespace {

std::atomic<bool> armed = false;
std::atomic<int> count = 0;
FaultPlan plan;

/// What happens to this call. (If the process is to die before the call, it has died here.)
Fault next() {
  if (!armed) return Fault::none;
  const int call = ++count;
  if (plan.nth != 0 && call != plan.nth) return Fault::none;
  if (plan.fault == Fault::kill) raise(SIGKILL);
  return plan.fault;
}

/// A call that succeeds or fails as a whole.
template <class Call>
auto whole(Call call) -> decltype(call()) {
  const Fault fault = next();
  if (fault == Fault::fail) {
    errno = plan.error;
    return -1;
  }
  const auto result = call();
  if (fault == Fault::kill_halfway) raise(SIGKILL);
  return result;
}

/// A call that moves bytes.
template <class Call>
ssize_t moving(std::size_t bytes, Call call) {
  const Fault fault = next();
  if (fault == Fault::fail) {
    errno = plan.error;
    return -1;
  }
  const bool is_half = fault == Fault::half || fault == Fault::kill_halfway;
  const ssize_t moved = call(is_half && bytes > 1 ? bytes / 2 : bytes);
  if (fault == Fault::kill_halfway) raise(SIGKILL);
  return moved;
}

}  // namespace

void arm(const FaultPlan& wanted) {
  plan = wanted;
  count = 0;
  armed = true;
}

int disarm() {
  armed = false;
  return count;
}

}  // namespace fa::tests

using fa::tests::moving;
using fa::tests::whole;

extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_close(int descriptor);
ssize_t __real_read(int descriptor, void* to, std::size_t bytes);
ssize_t __real_write(int descriptor, const void* from, std::size_t bytes);
int __real_fsync(int descriptor);
int __real_rename(const char* from, const char* to);
int __real_unlink(const char* path);
int __real_fstat(int descriptor, struct stat* status);

int __wrap_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return whole([&] { return __real_open(path, flags, mode); });
}

int __wrap_close(int descriptor);
int __wrap_close(int descriptor) {
  // Whatever close reports, Linux has closed the descriptor.
  int done = 0;
  const int result = whole([&] { return done = 1, __real_close(descriptor); });
  if (done == 0) {
    const int error = errno;
    __real_close(descriptor);
    errno = error;
  }
  return result;
}

ssize_t __wrap_read(int descriptor, void* to, std::size_t bytes);
ssize_t __wrap_read(int descriptor, void* to, std::size_t bytes) {
  return moving(bytes, [&](std::size_t part) { return __real_read(descriptor, to, part); });
}

ssize_t __wrap_write(int descriptor, const void* from, std::size_t bytes);
ssize_t __wrap_write(int descriptor, const void* from, std::size_t bytes) {
  return moving(bytes, [&](std::size_t part) { return __real_write(descriptor, from, part); });
}

int __wrap_fsync(int descriptor);
int __wrap_fsync(int descriptor) {
  return whole([&] { return __real_fsync(descriptor); });
}

int __wrap_rename(const char* from, const char* to);
int __wrap_rename(const char* from, const char* to) {
  return whole([&] { return __real_rename(from, to); });
}

int __wrap_unlink(const char* path);
int __wrap_unlink(const char* path) {
  return whole([&] { return __real_unlink(path); });
}

int __wrap_fstat(int descriptor, struct stat* status);
int __wrap_fstat(int descriptor, struct stat* status) {
  return whole([&] { return __real_fstat(descriptor, status); });
}

}  // extern "C"
