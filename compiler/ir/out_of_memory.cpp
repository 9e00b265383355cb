#include "compiler/ir/out_of_memory.h"

#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/errors.h"
// after llvm.h
namespace fa {
namespace {

void (*out_of_memory_words)() = nullptr;
void (*failed_words)(const char* reason) = nullptr;

}  // namespace

void on_llvm_failure(void (*out_of_memory)(), void (*failed)(const char* reason)) {
  out_of_memory_words = out_of_memory;
  failed_words = failed;
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { out_of_memory_words(); });
  llvm::install_fatal_error_handler([](void*, const char* reason, bool) { failed_words(reason); });
}

}  // namespace fa
