// What goes wrong in Facet, as types. The library never prints and never aborts: it throws one of these. But
// where memory runs out it throws std::bad_alloc, and in `compile` LLVM may end the process
// (docs/architecture.md, "What always holds").
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fa/export.h"

namespace fa FA_API {

/// A position in a spec: 1-based line and column; line 0 means "the whole file".
struct Place {
  std::string file{};
  int line = 0;
  int column = 0;
};

/// One finding about a spec. `render()` is what the command prints; its first line is `file:line:col: error:
/// message`.
struct Diagnostic {
  enum class Severity { error, warning };
  Severity severity = Severity::error;
  Place place{};
  std::string message{};      // lower case, specific, says what to do where that is short
  std::string remedy{};       // a second line, "help: ..." without the prefix; may be empty
  std::string source_line{};  // the text of the line the place points at
  int length = 1;             // columns to underline

  std::string render() const;
};

/// Base of every error Facet throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The spec (text, hook or C++ parts) is wrong. Carries every finding, in order of place.
class SpecError : public Error {
 public:
  explicit SpecError(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// The call does not fit the kernel: a tensor's shape, dtype, stride or alignment, a missing parameter.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

/// NVRTC or the host code generator refused the source. `log()` is the whole compiler log.
class BuildError : public Error {
 public:
  BuildError(const std::string& what, std::string log) : Error(what), log_(std::move(log)) {}
  const std::string& log() const { return log_; }

 private:
  std::string log_;
};

/// The device or its driver: absent, too old, out of memory, or a launch that failed.
class DeviceError : public Error {
 public:
  DeviceError(const std::string& what, int code) : Error(what), code_(code) {}
  int code() const { return code_; }  // the CUresult, or 0 where no driver call was made

 private:
  int code_;
};

/// A bug in Facet: please report it with the message.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace fa FA_API
