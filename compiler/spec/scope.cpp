// What each kind of expression may use.
#include "compiler/spec/scope.h"

namespace fa {

std::string_view room_name(Room room) {
  switch (room) {
    case Room::let:
      return "a let";
    case Room::score_mod:
      return "score_mod";
    case Room::mask_mod:
      return "mask_mod";
    case Room::extent:
      return "a tensor's extent";
    case Room::example:
      return "a tensor's example";
    case Room::constant:
      return "a constant";
  }
  return "";
}

std::string_view room_names(Room room) {
  switch (room) {
    case Room::let:
    case Room::score_mod:
      return "every name but i0 to i3";
    case Room::mask_mod:
      return "every name but score and i0 to i3: whether a key is kept depends on where it is";
    case Room::extent:
      return "lengths, head counts, batch, head_dim and i32 params";
    case Room::example:
      return "its indices from i0 on, lengths, head counts, batch, head_dim and params";
    case Room::constant:
      return "literals, head_dim and head_dim_v";
  }
  return "";
}

bool may_use(Room room, Builtin builtin, int rank) {
  const bool index = builtin >= Builtin::i0;
  const bool element = builtin <= Builtin::kv_idx;
  switch (room) {
    case Room::let:
    case Room::score_mod:
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
  const bool hook = room == Room::let || room == Room::score_mod || room == Room::mask_mod;
  if (hook || kind == Symbol::Kind::broken) return true;
  return kind == Symbol::Kind::param && room != Room::constant;
}

}  // namespace fa
