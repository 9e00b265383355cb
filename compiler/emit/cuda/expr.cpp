// Statements: which values get a name, loops, whole functions. What one instruction looks like is in
// expr_text.cpp.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/analysis/code_size.h"
#include "compiler/emit/cuda/expr.h"

namespace fa {
namespace {

constexpr std::size_t kLongestNested = 72;  // characters of an expression that is still nested into another

bool is_free_of_work(const llvm::Instruction& instruction) {
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction))
    return cast->getOpcode() == llvm::Instruction::SExt;  // pointers take int offsets, ints take int bytes
  return false;
}

std::string declaration(const llvm::Value& value, const std::string& name) {
  return fmt::format("{}{} {}", value.getType()->isPointerTy() ? "" : "const ", cpp_type(value), name);
}

// Values computed by a loop's body, at any depth.
void collect(const Region& region, std::unordered_set<const llvm::Value*>& values) {
  for (const Region::Item& item : region.items) {
    if (item.instruction != nullptr) {
      values.insert(item.instruction);
      continue;
    }
    for (const Loop::Carried& carried : item.loop->carried) values.insert(carried.phi);
    collect(item.loop->body, values);
  }
}

}  // namespace

ExprPrinter::ExprPrinter(Options options, Outside outside, Canonical canonical,
                         std::unordered_set<std::string> taken)
    : options_(options),
      outside_(std::move(outside)),
      canonical_(std::move(canonical)),
      taken_(std::move(taken)) {}

void ExprPrinter::line(const std::string& text) {
  statements_.append(static_cast<std::size_t>(options_.indent), ' ').append(text).append("\n");
}

void ExprPrinter::count_use(const llvm::Value& value, bool by_loop) {
  // What a loop uses is computed before it, once.
  uses_[canonical_(value)] += by_loop ? 2 : 1;
}

void ExprPrinter::count_uses(const Region::Item& item, bool in_loop) {
  if (item.instruction != nullptr) {
    for (const llvm::Value* value : item.instruction->operand_values()) count_use(*value, in_loop);
    return;
  }
  std::unordered_set<const llvm::Value*> own;
  collect(item.loop->body, own);
  for (const Loop::Carried& carried : item.loop->carried) {
    count_use(*carried.start, false);
    count_use(*carried.next, false);
  }
  for (const Region::Item& inner : item.loop->body.items) {
    if (inner.instruction == nullptr) {
      count_uses(inner, true);
      continue;
    }
    for (const llvm::Value* value : inner.instruction->operand_values())
      count_use(*value, !own.contains(value));
  }
}

void ExprPrinter::write(const std::vector<const Region::Item*>& items,
                        const std::vector<const llvm::Value*>& roots) {
  for (const Region::Item* item : items) count_uses(*item, false);
  for (const llvm::Value* root : roots) count_use(*root, false);
  if (roots.size() == 1) is_root_.insert(canonical_(*roots.front()));  // stands alone behind `return`
  for (const Region::Item* item : items) write_item(*item);
}

void ExprPrinter::write_item(const Region::Item& item) {
  if (item.instruction != nullptr)
    write_instruction(*item.instruction);
  else
    write_loop(*item.loop);
}

void ExprPrinter::write_instruction(const llvm::Instruction& instruction) {
  if (!outside_(instruction).empty()) return;  // `row.q_idx_f`, `p.scale_log2`
  Text text = print(instruction);
  const bool is_declared = declared_.contains(&instruction);
  const bool is_read = llvm::isa<llvm::LoadInst>(instruction);
  const bool is_short = text.text.size() <= kLongestNested || is_root_.contains(&instruction);
  const bool is_name = text.level == 0 && text.text.find('(') == std::string::npos;
  const bool nests = uses_[&instruction] <= 1 && !is_read && is_short;
  if (!is_declared && (nests || is_name || is_free_of_work(instruction))) {
    texts_[&instruction] = std::move(text);
    return;
  }
  if (is_declared) {
    line(fmt::format("{} = {};", texts_[&instruction].text, text.text));
    return;
  }
  const std::string name = unique_name(suggested_name(instruction), taken_);
  line(fmt::format("{} = {};", declaration(instruction, name), text.text));
  texts_[&instruction] = {name, 0};
}

void ExprPrinter::write_loop(const Loop& loop) {
  std::unordered_set<const llvm::Value*> own;
  collect(loop.body, own);
  for (const Loop::Carried& carried : loop.carried) {
    const std::string name = unique_name(suggested_name(*carried.phi), taken_);
    line(fmt::format("{} {} = {};", cpp_type(*carried.phi), name, value(*carried.start)));
    texts_[carried.phi] = {name, 0};
  }
  // After the last iteration a carried variable holds its next value; other values that outlive the loop are
  // declared before it.
  const auto is_next = [&](const llvm::Value* inner) {
    for (const Loop::Carried& carried : loop.carried)
      if (carried.next == inner) return true;
    return false;
  };
  const auto outlives = [&](const llvm::Value& inner) {
    for (const llvm::User* user : inner.users())
      if (!own.contains(user) && !llvm::isa<llvm::PHINode>(user) && !llvm::isa<llvm::BranchInst>(user))
        return true;
    return false;
  };
  for_each_instruction(loop.body, [&](const llvm::Instruction& inner, long long) {
    if (is_next(&inner) || declared_.contains(&inner) || !outlives(inner)) return;
    const std::string name = unique_name(suggested_name(inner), taken_);
    line(fmt::format("{} {};", cpp_type(inner), name));
    texts_[&inner] = {name, 0};
    declared_.insert(&inner);
  });

  if (options_.rolled_loops || stays_rolled(loop, options_.fast_math))
    statements_.append("#pragma unroll 1\n");
  line("do {");
  options_.indent += 2;
  for (const Region::Item& item : loop.body.items)
    if (item.instruction == nullptr || item.instruction != loop.condition) write_item(item);
  std::vector<std::string> next;
  for (const Loop::Carried& carried : loop.carried) {
    // A named value of this iteration is assigned as it is; anything else is computed before the first
    // assignment.
    next.push_back(value(*carried.next));
    const bool is_named = own.contains(carried.next) && !llvm::isa<llvm::PHINode>(carried.next) &&
                          next.back().find_first_of(" (") == std::string::npos;
    if (is_named || llvm::isa<llvm::Constant>(carried.next)) continue;
    const std::string name = unique_name("next_" + suggested_name(*carried.phi), taken_);
    line(fmt::format("{} = {};", declaration(*carried.phi, name), next.back()));
    next.back() = name;
  }
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    line(fmt::format("{} = {};", texts_[loop.carried[i].phi].text, next[i]));
    if (own.contains(loop.carried[i].next)) texts_[loop.carried[i].next] = texts_[loop.carried[i].phi];
  }
  options_.indent -= 2;
  const Text condition = print(*llvm::cast<llvm::Instruction>(loop.condition));
  line(loop.goes_on_if ? fmt::format("}} while ({});", condition.text)
                       : fmt::format("}} while (!({}));", condition.text));
}

std::string print_function(const llvm::Function& function, std::string_view name,
                           ExprPrinter::Options options) {
  std::unordered_set<std::string> taken;
  std::unordered_map<const llvm::Value*, std::string> names;
  std::string parameters;
  for (const llvm::Argument& argument : function.args()) {
    names[&argument] = unique_name(argument.getName().str(), taken);
    parameters += (parameters.empty() ? "" : ", ") + cpp_type(argument) + " " + names[&argument];
  }
  options.indent = 2;
  ExprPrinter printer(
      options,
      [&](const llvm::Value& value) {
        const auto found = names.find(&value);
        return found == names.end() ? std::string() : found->second;
      },
      [](const llvm::Value& value) { return &value; }, taken);
  const Region region = region_of(function);
  std::vector<const Region::Item*> items;
  for (const Region::Item& item : region.items) items.push_back(&item);
  printer.write(items, {region.result});
  const std::string result = printer.value(*region.result);
  return fmt::format("__device__ __forceinline__ {} {}({}) {{\n{}  return {};\n}}\n",
                     cpp_type(*region.result), name, parameters, printer.statements(), result);
}

}  // namespace fa
