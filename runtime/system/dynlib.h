// A shared library opened at run time, so that Facet starts on machines that lack it.
#pragma once

#include <string>

namespace fa {

class DynLib {
 public:
  DynLib() = default;
  DynLib(DynLib&& other) noexcept;
  DynLib& operator=(DynLib&& other) noexcept;
  DynLib(const DynLib&) = delete;
  DynLib& operator=(const DynLib&) = delete;
  ~DynLib();

  /// Opens a path, or a bare name by the system's search order. On failure the result is false and `error`
  /// holds the loader's words.
  static DynLib open(const std::string& path, std::string& error);

  explicit operator bool() const { return handle_ != nullptr; }
  /// The address of a symbol, or null.
  void* symbol(const char* name) const;
  /// Leaves it loaded until the process ends, whatever becomes of this object, which then has none.
  void keep_loaded() { handle_ = nullptr; }
  /// The file it was loaded from, or empty.
  std::string path() const;

 private:
  void* handle_ = nullptr;
};

}  // namespace fa
