// Reads the files hooks come from.
#include "compiler/spec/hook_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "compiler/spec/parse/ast.h"

namespace fa {
namespace {

// The file's bytes; null where it cannot be read, with the reason.
std::shared_ptr<const std::string> read(const std::filesystem::path& path, std::string& why) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  using std::filesystem::file_type;
  if (type != file_type::regular && type != file_type::directory && type != file_type::not_found) {
    why = "it is not a regular file";  // reading a pipe or a terminal could wait for ever
    return nullptr;
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMaxHookFileBytes + 1, '\0');
  // A directory can be opened but not read. Reading an empty file returns nothing and is no error.
  if (file) file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const int reason = errno;
  if (!file.is_open() || file.bad()) {
    why = std::strerror(reason);
    return nullptr;
  }
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.size() > kMaxHookFileBytes) {
    why = fmt::format("it is longer than the {} bytes a hook may have", kMaxHookFileBytes);
    return nullptr;
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace

void read_hook_files(Ast& ast, Findings& findings) {
  const std::filesystem::path folder = std::filesystem::path(ast.source->file()).parent_path();
  for (AstItem& item : ast.items) {
    if (item.broken || item.from.path.empty()) continue;
    std::string why;
    item.from.bytes = read(folder / item.from.path, why);
    const Place place = ast.source->place(item.from_span);
    item.from.line = place.line;
    item.from.column = place.column;
    if (item.from.bytes != nullptr) continue;
    item.broken = true;
    findings.error(item.from_span, fmt::format("cannot read '{}': {}", item.from.path, why),
                   folder.empty()
                       ? "a path is relative to the working directory, for a spec whose name has no folder"
                       : "a path is relative to the folder of the spec");
  }
}

}  // namespace fa
