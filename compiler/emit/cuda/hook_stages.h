// Divides hooks between the stages of a kernel: what each stage computes and what it hands to later ones.
// Equal values of different hooks (the mask and the addend reading one table) become one. Internal to
// compiler/emit.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/region.h"
#include "compiler/ir/signature.h"

namespace fa {

/// What one stage, or one element function, computes.
struct StageBody {
  std::vector<const Region::Item*> items;  // operands first
  std::vector<const llvm::Value*> fields;  // handed to later stages; head, row and column only
  std::unordered_set<const Region::Item*> present;

  /// Whether it reads a tensor, or has a loop, which may.
  bool reads() const;
  /// Whether it is a handful of plain operations: cheaper to ask again than to keep.
  bool is_cheap() const;
  /// Whether it has a loop, a read, or so many operations that its code may not be there once for each
  /// element of a tile.
  bool is_heavy() const;
  /// Its instructions (compiler/analysis/code_size.h).
  int size(bool fast) const;
};

/// The stages that a split knows: all, or heads alone, where what else there is belongs to the element.
enum class StagesOf : std::uint8_t { all, heads };

class StageSplit {
 public:
  explicit StageSplit(const HookSignature& args, StagesOf stages = StagesOf::all)
      : args_(args), stages_of_(stages) {}

  /// Adds a function; its result is asked for once an element. Gives the element's part.
  StageBody add(const llvm::Function& function);

  /// Head, row or column.
  const StageBody& stage(Stage stage) const { return stages_[static_cast<std::size_t>(stage)]; }

  /// The stage that computes a value.
  Stage stage_that_has(const llvm::Value& value) const;
  /// The value that stands for all values equal to this one.
  const llvm::Value* canonical(const llvm::Value& value) const;
  /// Place of an argument in the signature; -1 for other values.
  int argument_index(const llvm::Value& value) const;
  const HookArg& argument(int index) const { return args_[static_cast<std::size_t>(index)]; }
  /// Whether the value is scale * log2(e), which the launch arguments already hold.
  bool is_scale_log2(const llvm::Value& value) const;
  /// Whether the value is q_idx or kv_idx as a float, which kernels hand in; gives the argument, else null.
  const llvm::Argument* index_as_float(const llvm::Value& value) const;
  /// The function's result, to be asked for by its canonical value.
  const llvm::Value* result(const llvm::Function& function) const;

 private:
  struct Analysed {
    const llvm::Function* function;
    Region region;
    Dependence dependence;
  };
  struct Home {  // of an instruction: the item that computes it and the stage of that item
    const Region::Item* item = nullptr;
    Stage stage = Stage::head;
  };
  Stage home_of(DependsOn depends) const;
  void register_items(Analysed& analysed);
  void unify(const llvm::Instruction& instruction);
  bool is_given(const llvm::Value& value) const;
  bool is_recomputed(const llvm::Value& value) const;
  void need(const llvm::Value& value, Stage at, StageBody& body);
  void need_operands(const Region::Item& item, Stage at, StageBody& body);

  HookSignature args_;
  StagesOf stages_of_;
  std::vector<std::unique_ptr<Analysed>> functions_;
  std::unordered_map<const llvm::Value*, Home> homes_;
  std::unordered_map<const llvm::Value*, const llvm::Value*> canonical_;
  std::unordered_map<std::string, const llvm::Value*> by_structure_;
  std::array<StageBody, 3> stages_;
};

}  // namespace fa
