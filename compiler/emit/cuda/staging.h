// Which reads of a spec's hooks a kernel brings to shared memory a tile ahead
// (templates/common/score/staged_reads.cuh). Internal to compiler/emit.
#pragma once

#include <string>
#include <string_view>

#include "compiler/emit/cuda/hook_stages.h"
#include "compiler/emit/cuda/hooks.h"

namespace llvm {
class LoadInst;
}  // namespace llvm

namespace fa {

struct Staging {
  // The read of a table at [.., q_idx, kv_idx] whose tile is copied, and the address of its row; null: none.
  const llvm::LoadInst* element = nullptr;
  const llvm::Value* row = nullptr;
  bool rows_are_even = false;               // that address grows by one number from row to row
  std::vector<const llvm::Value*> columns;  // the fields that are found once a key
  int buffers = 1;                          // for the table's tiles
  int bytes = 0;                            // of shared memory
};

/// Stages a table's tile if `score`, what score_mod asks for of each element, reads one and `room` has place.
/// `split` knows of score_mod alone.
Staging stage_elements(const StageSplit& split, const std::vector<const StageBody*>& score,
                       const StagingRoom& room);

/// The element type (templates/common/dtype.cuh) of the table if `value` is its staged element as a float, of
/// 16 bits; else empty.
std::string_view type_of_widened(const Staging& staging, const StageSplit& split, const llvm::Value* value);

/// Whether what score_mod asks for of a column reads memory or takes long. `split` knows of score_mod alone.
bool is_column_worth_staging(const StageSplit& split, bool fast);

/// Stages the columns of all hooks as well, if there is place.
void stage_columns(Staging& staging, const StageSplit& split, const StagingRoom& room);

/// The members and functions that `struct Hooks` has beside those of the stages: before `struct Row`, and
/// after `struct Column`. `fields` names the values of the stages ("row.pair_at").
using FieldNames = std::unordered_map<const llvm::Value*, std::string>;
std::string print_staged_types(const Staging& staging, const FieldNames& fields);
std::string print_staged_functions(const Staging& staging, const FieldNames& fields);

}  // namespace fa
