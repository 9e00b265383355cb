// What each kind of expression may use.
#include "compiler/spec/check/scope.h"

namespace fa {

std::string_view room_names(Room room) {
  if (room == Room::extent) return "lengths, head counts, batch, head_dim and i32 params";
  if (room == Room::example)
    return "its indices from i0 on, lengths, head counts, batch, head_dim and params";
  return "literals, head_dim and head_dim_v";
}

bool may_use(Room room, Builtin builtin, int rank) {
  const bool index = builtin >= Builtin::i0;
  const bool element = builtin <= Builtin::kv_idx;
  switch (room) {
    case Room::let:
    case Room::score_mod:
    case Room::sink:
      return !index;
    case Room::mask_mod:
      return !index && builtin != Builtin::score;
    case Room::extent:
      return !index && !element;
    case Room::example:
      return !element && (!index || static_cast<int>(builtin) < static_cast<int>(Builtin::i0) + rank);
    case Room::constant:
      return builtin == Builtin::head_dim;
  }
  return false;
}

bool may_use(Room room, Symbol::Kind kind) {
  const bool hook =
      room == Room::let || room == Room::score_mod || room == Room::mask_mod || room == Room::sink;
  if (hook || kind == Symbol::Kind::broken) return true;
  return kind == Symbol::Kind::param && room != Room::constant;
}

}  // namespace fa
