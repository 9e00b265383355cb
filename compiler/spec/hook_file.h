// The files of LLVM IR that hooks come from: `mask_mod from "doc.ll"`. What is in them:
// compiler/ir/import/import.h.
#pragma once

#include <memory>
#include <string>

namespace fa {

struct Ast;
class Findings;

/// A hook takes about a page of IR; a file longer than this is a mistake.
constexpr std::size_t kMaxHookFileBytes = 4 * 1024 * 1024;

struct HookFile {
  std::string path{};                          // as written: relative to the spec's file
  std::shared_ptr<const std::string> bytes{};  // read once, when the spec is
  int line = 0, column = 0;                    // where the spec names it
};

/// Reads every file that the spec names, relative to the spec's folder; reports those that cannot be read.
void read_hook_files(Ast& ast, Findings& findings);

}  // namespace fa
