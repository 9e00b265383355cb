// The arguments of the functions that are derived from a mask for its tiles: first the numbers that say what
// is asked, then the mask's uniforms, then what else the function takes (a class: a pair for each summary).
#pragma once

#include "compiler/ir/signature.h"

namespace fa {

/// What @tile_class and @score_class are asked about; the argument's place.
enum class ClassArg : unsigned { b, h, q_lo, q_hi, kv_lo, kv_hi };
constexpr const char* kClassArgNames[] = {"b", "h", "q_lo", "q_hi", "kv_lo", "kv_hi"};

/// What a summary is asked about.
enum class SummaryArg : unsigned { b, h, idx };
constexpr const char* kSummaryArgNames[] = {"b", "h", "idx"};

llvm::Argument* class_argument(const llvm::Function& tile_class, ClassArg which);
/// One of the uniforms, of a kind before `param`.
llvm::Argument* class_uniform(const llvm::Function& tile_class, HookArgKind kind);
llvm::Argument* summary_argument(const llvm::Function& summary, SummaryArg which);
/// An end of summary `j`'s pair.
llvm::Argument* summary_end(const llvm::Function& tile_class, int j, bool is_high,
                            const llvm::Function& mask);
/// What `uniform`, an argument of the mask, is in a derived function with `leading` arguments before.
llvm::Argument* uniform_in(const llvm::Function& derived, std::size_t leading, const llvm::Argument& uniform);

}  // namespace fa
