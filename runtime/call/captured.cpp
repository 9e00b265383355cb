#include "runtime/call/captured.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "compiler/spec/dtype.h"
#include "runtime/call/extent.h"
#include "runtime/call/refuse.h"

namespace fa {
namespace {

using Scalars = std::array<Scalar, kMaxParams>;

/// The index of `name` in `items`, or the number of items. Callers mostly pass things in the spec's order, so
/// `guess` is tried first.
template <class Items, class NameOf>
std::size_t find(const Items& items, std::string_view name, std::size_t guess, NameOf name_of) {
  if (guess < items.size() && name_of(items[guess]) == name) return guess;
  std::size_t at = 0;
  while (at < items.size() && name_of(items[at]) != name) ++at;
  return at;
}

template <class Items, class NameOf>
std::string what_it_has(const Items& items, NameOf name_of) {
  if (items.empty()) return "it has none";
  std::vector<std::string_view> names;
  for (const auto& item : items) names.push_back(name_of(item));
  return fmt::format("it has {}", fmt::join(names, ", "));
}

void set_params(const CheckedSpec& spec, const ForwardArgs& args, Scalars& scalars, CallParams& params) {
  const auto name_of = [](const ParamInfo& info) -> std::string_view { return info.name; };
  for (std::size_t i = 0; i < spec.params.size(); ++i) scalars[i] = spec.params[i].default_value;
  unsigned seen = 0;
  for (std::size_t i = 0; i < args.params.size(); ++i) {
    const NamedScalar& given = args.params[i];
    const std::size_t at = find(spec.params, given.name, i, name_of);
    if (at == spec.params.size())
      refuse("param '{}' is not one of the spec's: {}", given.name, what_it_has(spec.params, name_of));
    if ((seen >> at & 1) != 0) refuse("param '{}' is given twice: leave one out", given.name);
    seen |= 1u << at;
    if (given.value.index() != scalars[at].index()) {
      const bool is_int = std::holds_alternative<std::int32_t>(scalars[at]);
      refuse("param '{}' is {}, {} was given: pass {}", given.name, is_int ? "i32" : "f32",
             is_int ? "an f32" : "an i32", is_int ? "a std::int32_t" : "a float");
    }
    scalars[at] = given.value;
  }
  for (std::size_t i = 0; i < spec.params.size(); ++i) {
    if (const auto* whole = std::get_if<std::int32_t>(&scalars[i])) {
      params.params[i].i32 = *whole;
    } else {
      params.params[i].f32 = std::get<float>(scalars[i]);
    }
  }
}

/// Compares one captured tensor with its declaration.
void check_tensor(const CheckedTensor& wanted, const Captured& given, const CallExtents& size,
                  std::span<const Scalar> scalars, bool is_read) {
  const TensorInfo& info = wanted.info;
  if (!is_dtype(given.dtype)) refuse("tensor '{}': {}", info.name, no_dtype(given.dtype));
  if (given.dtype != info.dtype) {
    refuse("tensor '{}' has dtype {}, the spec says {}: convert it", info.name, dtype_name(given.dtype),
           dtype_name(info.dtype));
  }
  if (given.rank != static_cast<int>(wanted.extents.size())) {
    refuse("tensor '{}' has {} dimensions, the spec says {}: [{}]", info.name, given.rank,
           wanted.extents.size(), fmt::join(info.extents, ", "));
  }
  std::int64_t elements = 1;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (std::size_t d = 0; d < wanted.extents.size(); ++d) {
    std::int32_t extent = evaluate_extent(*wanted.extents[d], size, scalars);
    if (!is_read) extent = std::max(extent, 0);  // `kv_len - 1` of no keys
    if (given.shape[d] != extent) {
      refuse("tensor '{}' has shape[{}] = {}, in this call {} is {}", info.name, d, given.shape[d],
             info.extents[d], extent);
    }
    if (extent <= 0 && is_read) {
      refuse("tensor '{}' has no elements: in this call {} is {}; make it at least 1", info.name,
             info.extents[d], extent);
    }
    elements *= extent;
    if (elements > kMost)
      refuse("tensor '{}' has more than {} elements: an index is an i32", info.name, kMost);
  }
  if (elements == 0 || !is_read) return;
  if (given.data == nullptr)
    refuse("tensor '{}' has no data: pass the address of its first element", info.name);
  const auto bytes = static_cast<unsigned>(dtype_bytes(info.dtype));
  if (reinterpret_cast<std::uintptr_t>(given.data) % bytes != 0)
    refuse("tensor '{}' is not aligned to {} bytes: copy it to memory that is", info.name, bytes);
}

}  // namespace

void set_captured(const CheckedSpec& spec, const ForwardArgs& args, CallParams& params) {
  Scalars scalars;
  set_params(spec, args, scalars, params);

  const CallExtents size = {.batch = params.batch,
                            .num_q_heads = params.num_q_heads,
                            .num_kv_heads = params.num_kv_heads,
                            .group_size = params.group_size,
                            .q_len = params.q_len,
                            .kv_len = params.kv_len,
                            .head_dim = spec.head_dim};
  const bool is_read = params.batch > 0 && params.q_len > 0 && params.kv_len > 0;
  const auto name_of = [](const CheckedTensor& tensor) -> std::string_view { return tensor.info.name; };
  unsigned seen = 0;
  for (std::size_t i = 0; i < args.tensors.size(); ++i) {
    const Captured& given = args.tensors[i];
    const std::size_t at = find(spec.tensors, given.name, i, name_of);
    if (at == spec.tensors.size())
      refuse("tensor '{}' is not one of the spec's: {}", given.name, what_it_has(spec.tensors, name_of));
    if ((seen >> at & 1) != 0) refuse("tensor '{}' is given twice: leave one out", given.name);
    seen |= 1u << at;
    check_tensor(spec.tensors[at], given, size, scalars, is_read);
    params.tensors[at] = given.data;
  }
  for (std::size_t at = 0; at < spec.tensors.size(); ++at) {
    if ((seen >> at & 1) == 0) {
      const TensorInfo& info = spec.tensors[at].info;
      refuse("tensor '{}' is missing: add it to ForwardArgs::tensors ({}[{}])", info.name,
             dtype_name(info.dtype), fmt::join(info.extents, ", "));
    }
  }
}

}  // namespace fa
