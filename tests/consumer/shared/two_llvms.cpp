// two_llvms LIBRARY...: loads the libraries in this order, with global symbols. Uses the LLVM among them, and
// before, between and after those calls lets the library of attention.cpp check that attention is right.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  bool (*is_right)() = nullptr;
  void* (*create)() = nullptr;
  void (*dispose)(void*) = nullptr;
  for (int i = 1; i < argc; ++i) {
    void* const library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 2;
    if (void* const found = dlsym(library, "attention_is_right"))
      is_right = reinterpret_cast<bool (*)()>(found);
    if (void* const found = dlsym(library, "LLVMContextCreate"))
      create = reinterpret_cast<void* (*)()>(found);
    if (void* const found = dlsym(library, "LLVMContextDispose"))
      dispose = reinterpret_cast<void (*)(void*)>(found);
  }
  if (is_right == nullptr || create == nullptr || dispose == nullptr)
    return std::fprintf(stderr, "name an LLVM, and a library with attention_is_right\n"), 2;
  if (!is_right()) return 1;
  void* const context = create();
  const bool is_right_beside = is_right();
  dispose(context);
  return is_right_beside && is_right() ? 0 : 1;
}
