// What g++ makes of a kernel's source.
#pragma once

#include <string>

#include "compiler/emit/cuda/source.h"
#include "tests/tools/temporary.h"

namespace fa::test {

/// A kernel's functions, loaded apart from those of any other Library: each has a block and shared memory of its own, for one
/// thread at a time.
class Library {
 public:
  /// Compiles `source`, where this process has not yet. Throws BuildError where g++ refuses it.
  explicit Library(const Source& source);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// Throws BuildError.
  template <class Function>
  Function* find(const std::string& name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const std::string& name) const;

  void* handle_ = nullptr;
};

}  // namespace fa::test
