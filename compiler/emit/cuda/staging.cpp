// Reads that scores wait for: of a table at the element's own row and column, and what a column takes to
// find.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "compiler/emit/cuda/expr.h"
#include "compiler/emit/cuda/staging.h"
#include "compiler/ir/hook_ir.h"
#include "compiler/spec/rounding.h"

namespace fa {
namespace {

constexpr int kWorthStaging = 16;  // instructions of a column, which eight rows of a warp would repeat

int bytes_of(const llvm::Value& value) {
  const std::string type = cpp_type(value);
  if (type == "bool") return 1;
  if (type == "unsigned short") return 2;
  return type == "float" || type == "int" ? 4 : 8;
}

/// Of a tile's row in shared memory: chunks of 16 bytes, an odd number where they are no power of two
/// (templates/common/score/staged_reads.cuh).
int staged_row_bytes(int bytes) {
  const auto chunks = static_cast<unsigned>(bytes / 16);
  return static_cast<int>(std::has_single_bit(chunks) ? chunks : chunks | 1) * 16;
}

/// Of the fields as members of a struct, in order.
int struct_bytes(const std::vector<const llvm::Value*>& fields) {
  int bytes = 0;
  for (const llvm::Value* field : fields) {
    const int size = bytes_of(*field);
    bytes = round_up(bytes, size) + size;
  }
  return bytes;
}

/// By how many bytes at once a struct is read and written: it is padded to whole ones.
int access_bytes(int bytes) { return bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16; }

int column_bytes(const std::vector<const llvm::Value*>& fields) {
  const int bytes = struct_bytes(fields);
  return round_up(bytes, access_bytes(bytes));
}

bool is_argument(const StageSplit& split, const llvm::Value& value, HookArgKind kind) {
  const auto* cast = llvm::dyn_cast<llvm::SExtInst>(&value);
  const int argument = split.argument_index(cast == nullptr ? value : *cast->getOperand(0));
  return argument >= 0 && split.argument(argument).kind == kind;
}

bool is_q_idx(const StageSplit& split, const llvm::Value& value) {
  return is_argument(split, value, HookArgKind::q_idx);
}

/// Whether `row`, an address, is one of the head's plus q_idx times a number of the head.
bool is_even(const StageSplit& split, const llvm::Value& row) {
  const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(&row);
  if (step == nullptr || step->getNumIndices() != 1) return false;
  const auto is_of_head = [&](const llvm::Value& value) {
    return split.stage_that_has(value) == Stage::head;
  };
  if (!is_of_head(*step->getPointerOperand())) return false;
  const llvm::Value& index = **step->idx_begin();
  if (is_q_idx(split, index)) return true;
  const auto* product = llvm::dyn_cast<llvm::BinaryOperator>(&index);
  if (product == nullptr) return false;
  const llvm::Value &left = *product->getOperand(0), &right = *product->getOperand(1);
  if (product->getOpcode() == llvm::Instruction::Shl) return is_q_idx(split, left) && is_of_head(right);
  if (product->getOpcode() != llvm::Instruction::Mul) return false;
  return (is_q_idx(split, left) && is_of_head(right)) || (is_q_idx(split, right) && is_of_head(left));
}

/// The address of the row where `load` reads one element of 16 or 32 bits, at place kv_idx; else null.
const llvm::Value* row_read(const StageSplit& split, const llvm::LoadInst& load) {
  const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(load.getPointerOperand());
  if (step == nullptr || step->getNumIndices() != 1 || step->getSourceElementType() != load.getType())
    return nullptr;
  const unsigned bits = load.getType()->getPrimitiveSizeInBits();
  if ((bits != 16 && bits != 32) || !is_argument(split, **step->idx_begin(), HookArgKind::kv_idx))
    return nullptr;
  const llvm::Value* row = split.canonical(*step->getPointerOperand());
  const auto& fields = split.stage(Stage::row).fields;
  return std::find(fields.begin(), fields.end(), row) == fields.end() ? nullptr : row;
}

}  // namespace

Staging stage_elements(const StageSplit& split, const std::vector<const StageBody*>& score,
                       const StagingRoom& room) {
  // Where rows read memory, to find the address of each again in every tile costs too much.
  if (!room.has_async_copies || split.stage(Stage::row).reads()) return {};
  for (const StageBody* body : score)
    for (const Region::Item* item : body->items) {
      const auto* load = llvm::dyn_cast_or_null<llvm::LoadInst>(item->instruction);
      const llvm::Value* row = load == nullptr ? nullptr : row_read(split, *load);
      if (row == nullptr) continue;
      const int bytes = room.tile_q * staged_row_bytes(room.tile_kv * bytes_of(*load));
      const int buffers = std::min(room.buffers, room.bytes / bytes);
      if (buffers > 0)
        return {.element = load,
                .row = row,
                .rows_are_even = is_even(split, *row),
                .columns = {},
                .buffers = buffers,
                .bytes = buffers * bytes};
    }
  return {};
}

std::string_view type_of_widened(const Staging& staging, const StageSplit& split, const llvm::Value* value) {
  const auto* widened = llvm::dyn_cast_or_null<llvm::FPExtInst>(value);
  if (staging.element == nullptr || widened == nullptr ||
      split.canonical(*widened->getOperand(0)) != staging.element)
    return "";
  const llvm::Type& type = *widened->getOperand(0)->getType();
  return type.isHalfTy() ? "F16" : type.isBFloatTy() ? "Bf16" : "";
}

bool is_column_worth_staging(const StageSplit& split, bool fast) {
  const StageBody& column = split.stage(Stage::column);
  return !column.fields.empty() && (column.reads() || column.size(fast) >= kWorthStaging);
}

void stage_columns(Staging& staging, const StageSplit& split, const StagingRoom& room) {
  const auto& fields = split.stage(Stage::column).fields;
  const int bytes = (room.tile_kv * column_bytes(fields) + 15) / 16 * 16;
  if (staging.bytes + bytes > room.bytes) return;
  staging.columns = fields;
  staging.bytes += bytes;
}

std::string print_staged_types(const Staging& staging, const FieldNames& fields) {
  std::string text;
  if (staging.element != nullptr) {
    const std::string type = cpp_type(*staging.element);
    text += fmt::format(
        "\n  using StagedValue = {0};\n  struct StagedElement {{\n    bool is_there = false;\n    {0} value "
        "= "
        "0;\n  }};\n",
        type);
  }
  if (!staging.columns.empty()) {
    std::string members;
    for (const llvm::Value* value : staging.columns)
      members += fmt::format("    {} {};\n", cpp_type(*value), fields.at(value).substr(7));
    text += fmt::format("\n  struct alignas({}) StagedColumn {{\n{}  }};\n",
                        access_bytes(struct_bytes(staging.columns)), members);
  }
  return text;
}

std::string print_staged_functions(const Staging& staging, const FieldNames& fields) {
  std::string text;
  if (staging.element != nullptr) {
    const std::string type = cpp_type(*staging.element);
    text += fmt::format(R"(
  static __device__ __forceinline__ const {0}* staged_row(const Row& row) {{
    return {1};
  }}

  static __device__ __forceinline__ {0} staged_value(const Row& row, const Column& column) {{
    return column.staged.is_there ? column.staged.value : __ldg({1} + column.kv_idx);
  }}
)",
                        type, fields.at(staging.row));
  }
  if (!staging.columns.empty()) {
    std::string to, from;
    for (const llvm::Value* value : staging.columns) {
      const std::string& field = fields.at(value);
      to += (to.empty() ? "" : ", ") + field;
      from += ", staged." + field.substr(7);
    }
    text += fmt::format(R"(
  static __device__ __forceinline__ StagedColumn to_stage(const Column& column) {{
    return {{{}}};
  }}

  static __device__ __forceinline__ Column from_stage(const StagedColumn& staged, int kv_idx, float kv_idx_f) {{
    return {{kv_idx, kv_idx_f{}}};
  }}
)",
                        to, from);
  }
  return text;
}

}  // namespace fa
