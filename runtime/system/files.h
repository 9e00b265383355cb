// Whole files: read at once, replaced at once. Nothing here throws because of the disk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fa {

/// A file descriptor that closes itself.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return descriptor_; }
  bool close_now();  // false where the system reports a late error of writing

 private:
  int descriptor_;
};

/// Appends the next `count` bytes of an open file to `bytes`. Returns false, with errno, where it can read
/// fewer.
bool read_more(int descriptor, std::size_t count, std::string& bytes);

/// All bytes of an open regular file, or nothing.
std::optional<std::string> read_all(int descriptor);

/// All bytes of a regular file; where there are none, `problem` is the system's reason.
std::optional<std::string> read_whole_file(const std::string& path, std::string& problem);

/// Writes a file aside in `folder`, fsyncs it and renames it to `name`: whoever reads sees the old file or
/// the new one, whenever this process or the machine dies. `mode` as for open(2), less the umask. Returns why
/// it could not, or an empty string; then the old file is there as it was, and nothing else.
std::string replace_file(const std::string& folder, const std::string& name, std::string_view bytes,
                         mode_t mode);
constexpr std::uint32_t kNoId = 0xffffffff;  // of a user or group that is left as it is

/// Who may do what with a new file.
struct Ownership {
  mode_t mode = 0600;
  bool is_exact = false;  // the mode is set whatever the umask is
  // Set where this process may do so; else the file is its own.
  std::uint32_t user = kNoId, group = kNoId;
};

/// The same for bytes in several pieces.
std::string replace_file(const std::string& folder, const std::string& name,
                         std::span<const std::string_view> pieces, const Ownership& ownership);

/// Whether a file of so many bytes is beyond the process's limit (ulimit -f). A write beyond this limit raises
/// SIGXFSZ, which ends a process that does not handle it.
bool beyond_file_limit(std::size_t bytes);

/// Writes all bytes, in as many calls as the system needs. Returns false, with errno, where it accepts no
/// more.
bool write_all(int descriptor, std::string_view bytes);

/// "what: the system's words for an errno".
std::string because(std::string_view what, int error);

}  // namespace fa
