// Standard input is read to its end before it is parsed, as a file is.
#include "tools/command/spec_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "compiler/spec/parse/parser.h"
#include "compiler/spec/spec.h"
#include "runtime/system/files.h"
#include "runtime/system/output.h"

namespace fa::tools {

namespace {

constexpr const char* kStdin = "<stdin>";

[[noreturn]] void refuse(std::string message, std::string remedy = {}) {
  Diagnostic finding;
  finding.place.file = kStdin;
  finding.message = std::move(message);
  finding.remedy = std::move(remedy);
  throw SpecError({finding});
}

std::string read_stdin() {
  std::string text;
  while (text.size() <= kMaxSpecBytes) {
    char part[4096];
    const ssize_t got = read(STDIN_FILENO, part, sizeof part);
    if (got == 0) return text;
    if (got > 0)
      text.append(part, static_cast<std::size_t>(got));
    else if (errno != EINTR)
      refuse(because("cannot read standard input", errno),
             "send the spec's text there, or name a file instead of -");
  }
  refuse(fmt::format("standard input is longer than the {} bytes a spec may have", kMaxSpecBytes));
}

}  // namespace

std::string spec_file_name(const std::string& path) { return path == "-" ? kStdin : path; }

Spec read_spec(const std::string& path) {
  if (path != "-") return Spec::load(path);
  static const std::string text = read_stdin();
  return Spec::parse(text, kStdin);
}

void check_apart_from_spec(const std::string& output, std::string_view option, const Spec& spec) {
  if (output.empty()) return;
  const CheckedSpec& checked = spec.checked();
  for (const std::string& input : {checked.file, checked.score_from.path, checked.mask_from.path})
    if (!input.empty() && is_same_output(output, input))
      throw ArgumentError(
          fmt::format("{} names {}, which the spec is read from: it would be replaced; name another file",
                      option, output));
}

}  // namespace fa::tools
