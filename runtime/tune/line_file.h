// A file of lines that several processes add to at once. Lines are appended under a lock, so that two never
// mix, and
// a file that has to change is written aside and renamed. Whoever reads takes no lock: it sees whole lines
// and
// perhaps one that is still being written, or that a process left when it was killed.
//
// The rules of trust are those of the disk cache: the file and its folder belong to this user, or to root,
// and
// nobody else may write to them, unless the user says that users trust each other. Nothing throws because of
// the disk.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace fa {

class LineFile {
 public:
  /// `folder` is made by the first write; empty: nothing is kept. `shared`: users of the folder trust each
  /// other.
  LineFile(std::string folder, std::string name, bool shared)
      : folder_(std::move(folder)), name_(std::move(name)), shared_(shared) {}

  std::string path() const { return folder_ + "/" + name_; }

  /// The bytes; none where there is no such file yet. Nothing where it cannot be read or is not to be
  /// trusted; then
  /// `problem` says why.
  std::optional<std::string> read(std::string& problem) const;
  /// How long the file is; 0 where there is none.
  std::size_t bytes() const;
  /// Adds a line. Returns why it could not, or an empty string; then the file is as it was.
  std::string append(std::string_view line) const;
  /// Replaces the bytes by `change` of them, under the lock. Returns as `append` does.
  std::string update(const std::function<std::string(std::string_view)>& change) const;

 private:
  std::string make_folder() const;
  std::string distrust_folder() const;

  std::string folder_, name_;
  bool shared_ = false;
};

}  // namespace fa
