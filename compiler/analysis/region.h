// A hook's control flow as a tree: straight-line instructions and counted loops. Lowering makes nothing else,
// so the tree always exists; a loop is one unit of work, at the stage of everything inside it.
#pragma once

#include <memory>
#include <vector>

namespace llvm {
class Function;
class Instruction;
class PHINode;
class Value;
}  // namespace llvm

namespace fa {

struct Loop;

struct Region {
  struct Item {
    const llvm::Instruction* instruction = nullptr;  // null for a loop
    std::unique_ptr<Loop> loop;
  };
  std::vector<Item> items;              // terminators and phis are not among them
  const llvm::Value* result = nullptr;  // what the function returns; the function's region only
};

/// do { body } while (condition); each phi starts as `start` and goes on as `next`.
struct Loop {
  struct Carried {
    const llvm::PHINode* phi = nullptr;
    const llvm::Value* start = nullptr;
    const llvm::Value* next = nullptr;
  };
  std::vector<Carried> carried;
  Region body;
  const llvm::Value* condition = nullptr;
  bool goes_on_if = true;  // the value of `condition` that repeats the loop
  int trip_count = 1;      // at most
};

/// Throws InternalError where the function is not such a tree.
Region region_of(const llvm::Function& function);

/// Calls `visit` on every instruction in order, those inside loops with the product of the loops' trip
/// counts.
template <class Visit>
void for_each_instruction(const Region& region, Visit visit, long long times = 1) {
  for (const Region::Item& item : region.items) {
    if (item.instruction != nullptr)
      visit(*item.instruction, times);
    else
      for_each_instruction(item.loop->body, visit, times * item.loop->trip_count);
  }
}

}  // namespace fa
