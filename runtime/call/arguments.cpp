#include "runtime/call/arguments.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "compiler/spec/dtype.h"
#include "runtime/call/captured.h"
#include "runtime/call/overlap.h"
#include "runtime/call/refuse.h"
#include "runtime/call/tensor_checks.h"

namespace fa {
namespace {

constexpr std::int64_t kGridLimit = 65535;  // of a grid's y and z
constexpr std::int64_t kMostHeads =
    (1 << 30) - 1;  // of all batch entries: blocks number them, up to powers of two

void check_tensors(const CheckedSpec& spec, Device device, const ForwardArgs& args) {
  const Named q{"q", args.q}, k{"k", args.k}, v{"v", args.v}, o{"o", args.o};
  check_shape(q, spec, spec.head_dim, "head_dim");
  check_shape(k, spec, spec.head_dim, "head_dim");
  check_shape(v, spec, spec.head_dim_v, "head_dim_v");
  check_shape(o, spec, spec.head_dim_v, "head_dim_v");
  check_same(k, q, 0);
  check_same(v, k, 0);
  check_same(v, k, 1);
  check_same(v, k, 2);
  check_same(o, q, 0);
  check_same(o, q, 1);
  check_same(o, q, 2);
  if (args.q.shape[1] % args.k.shape[1] != 0) {
    refuse("q has {} heads and k has {}: the q heads must be a multiple of the kv heads", args.q.shape[1],
           args.k.shape[1]);
  }
  if (device == Device::cuda) {
    for (std::size_t d = 0; d < 2; ++d) {
      if (args.q.shape[d] > kGridLimit) {
        refuse("q.shape[{}] ({}) is {}: on a GPU it is at most {}; split the call", d, kDimensionNames[d],
               args.q.shape[d], kGridLimit);
      }
    }
    if (args.q.shape[0] * args.q.shape[1] > kMostHeads)
      refuse("q.shape[0] x q.shape[1] (batch x heads) is {}: on a GPU it is at most {}; split the call",
             args.q.shape[0] * args.q.shape[1], kMostHeads);
  }
  for (const Named& t : {q, k, v, o}) check_memory(t, device);
  if (args.q.shape[0] != 0 && args.q.shape[2] != 0 && !is_injective(args.o))
    refuse("o.strides make elements of o share memory: pass a tensor whose elements are distinct");
  if (reinterpret_cast<std::uintptr_t>(args.lse) % alignof(float) != 0)
    refuse("lse is not aligned to {} bytes: pass the address of a float", alignof(float));
}

void set_dropout(const CheckedSpec& spec, const ForwardArgs& args, CallParams& params) {
  params.drop_threshold = 0;
  params.keep_scale = 1;
  params.seed = args.seed;
  if (!spec.has_dropout) {
    if (args.dropout.value_or(0.0f) != 0.0f)
      refuse("dropout is {}, but the spec has none: add a line `dropout {}` to it", *args.dropout,
             *args.dropout);
    return;
  }
  const double probability = args.dropout ? double{*args.dropout} : spec.dropout;
  if (!(probability >= 0 && probability <= 1))
    refuse("dropout is {}: a probability is from 0 to 1", probability);
  constexpr double kOne = 65536;
  params.drop_threshold = static_cast<unsigned>(std::lround(probability * kOne));
  const double kept = kOne - params.drop_threshold;
  params.keep_scale = kept == 0 ? 0.0f : static_cast<float>(kOne / kept);
}

}  // namespace

Work prepare(const CheckedSpec& spec, Device device, const ForwardArgs& args, ForwardParams& params) {
  check_tensors(spec, device, args);
  CallParams& call = params.call;
  params.q = args.q.data;
  params.k = args.k.data;
  params.v = args.v.data;
  params.o = args.o.data;
  params.lse = args.lse;
  params.q_strides = strides_of(args.q);
  params.k_strides = strides_of(args.k);
  params.v_strides = strides_of(args.v);
  params.o_strides = strides_of(args.o);
  call.batch = static_cast<int>(args.q.shape[0]);
  call.num_q_heads = static_cast<int>(args.q.shape[1]);
  call.num_kv_heads = static_cast<int>(args.k.shape[1]);
  call.group_size = call.num_q_heads / call.num_kv_heads;
  call.q_len = static_cast<int>(args.q.shape[2]);
  call.kv_len = static_cast<int>(args.k.shape[2]);
  call.scale = static_cast<float>(spec.scale);
  call.scale_log2 = static_cast<float>(spec.scale * std::numbers::log2e);
  set_dropout(spec, args, call);
  set_captured(spec, args, call);
  if (call.batch == 0 || call.q_len == 0) return Work::nothing;
  check_apart(args);
  return call.kv_len == 0 ? Work::empty_rows : Work::kernel;
}

}  // namespace fa
