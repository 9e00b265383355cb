// Calls that write what they read are refused, and the message names both; views whose elements only
// alternate are accepted.
#include "runtime/call/overlap.h"

#include <functional>

#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using tests::kNothingThrown;
using tests::message_of;

namespace {

constexpr std::int64_t kBatch = 2, kHeads = 4, kLength = 16, kDim = 8;
constexpr std::int64_t kElements = kBatch * kHeads * kLength * kDim;

/// A call of f32 tensors, each with memory of its own.
struct Call {
  std::vector<float> memory = std::vector<float>(6 * kElements, 1.0f);
  ForwardArgs args;

  Call() {
    args.q = view(0);
    args.k = view(1);
    args.v = view(2);
    args.o = view(3);
    args.lse = at(4);
    args.tensors = {{.name = "bias", .data = at(5), .dtype = DType::f32, .shape = {kLength}, .rank = 1}};
  }
  float* at(std::int64_t tensor, std::int64_t element = 0) {
    return memory.data() + tensor * kElements + element;
  }
  Tensor view(std::int64_t tensor, std::int64_t element = 0) {
    return Tensor::bhsd(at(tensor, element), DType::f32, kBatch, kHeads, kLength, kDim);
  }
};

/// The kernel's message about the call after `spoil` has changed it.
std::string refusal(const std::function<void(Call&)>& spoil) {
  static const Kernel kernel =
      compile(Spec::parse("attention a\nhead_dim 8\ndtype f32\ntensor bias : f32[kv_len]\n"
                          "score_mod = score + bias[kv_idx]\n"),
              {.device = Device::host, .disk_cache = false});
  Call call;
  spoil(call);
  return message_of<ArgumentError>([&] { kernel.forward(call.args); });
}

std::string between(const std::string& output, const std::string& input) {
  return output + " and " + input + " share memory, and the call writes " + output +
         " while it reads the other: give " + output + " memory of its own";
}

}  // namespace

TEST_CASE("what a call writes may not be what it reads", "[runtime][arguments]") {
  CHECK(refusal([](Call&) {}) == kNothingThrown);
  CHECK(refusal([](Call& c) { c.args.o = c.args.q; }) == between("o", "q"));
  CHECK(refusal([](Call& c) { c.args.o = c.args.k; }) == between("o", "k"));
  CHECK(refusal([](Call& c) { c.args.o = c.args.v; }) == between("o", "v"));
  CHECK(refusal([](Call& c) { c.args.tensors[0].data = c.at(3); }) == between("o", "tensor bias"));
  CHECK(refusal([](Call& c) { c.args.lse = c.at(0); }) == between("lse", "q"));
  CHECK(refusal([](Call& c) { c.args.lse = c.at(1, kElements - 1); }) == between("lse", "k"));
  CHECK(refusal([](Call& c) { c.args.tensors[0].data = c.at(4, 3); }) == between("lse", "tensor bias"));
  // One shared element is enough; memory that only touches does not overlap.
  CHECK(refusal([](Call& c) { c.args.o = c.view(2, kElements - 1); }) == between("o", "v"));
  CHECK(refusal([](Call& c) {
          c.args.o = c.view(3);
          c.args.tensors[0].data = c.at(4, -1);
        }) == between("o", "tensor bias"));
  // Inputs may share memory.
  CHECK(refusal([](Call& c) { c.args.k = c.args.v = c.args.q; }) == kNothingThrown);
}

TEST_CASE("an empty call has no memory to share", "[runtime][arguments]") {
  CHECK(refusal([](Call& c) {
          c.args.k.shape[2] = c.args.v.shape[2] = 0;
          c.args.tensors[0].shape[0] = 0;
          c.args.k.data = c.args.v.data = c.args.o.data;
        }) == kNothingThrown);
  CHECK(refusal([](Call& c) {
          c.args.q.shape[2] = c.args.o.shape[2] = 0;
          c.args.o.data = c.args.k.data;
        }) == kNothingThrown);
}

TEST_CASE("views that lie between each other are apart", "[runtime][arguments]") {
  // [batch, length, 4, heads, dim]: q, k, v and o by turns.
  const auto packed = [](Call& c, std::int64_t which, std::int64_t element = 0) {
    Tensor t =
        Tensor::bshd(c.at(0, which * kHeads * kDim + element), DType::f32, kBatch, kHeads, kLength, kDim);
    t.strides = {4 * kLength * kHeads * kDim, kDim, 4 * kHeads * kDim, 1};
    return t;
  };
  const auto all = [&](Call& c) {
    c.args.q = packed(c, 0);
    c.args.k = packed(c, 1);
    c.args.v = packed(c, 2);
    c.args.o = packed(c, 3);
    c.args.lse = nullptr;
  };
  CHECK(refusal(all) == kNothingThrown);
  CHECK(refusal([&](Call& c) {
          all(c);
          c.args.o = packed(c, 2);
        }) == between("o", "v"));
  CHECK(refusal([&](Call& c) {
          all(c);
          c.args.o = packed(c, 3, -1);
        }) == between("o", "v"));
  CHECK(refusal([&](Call& c) {
          all(c);
          c.args.o = packed(c, 3, 1);
        }) == between("o", "q"));
  // Rows of q and o by turns, each of all its heads' own [heads, length, 2, dim].
  CHECK(refusal([&](Call& c) {
          for (Tensor* t : {&c.args.q, &c.args.o})
            t->strides = {2 * kHeads * kLength * kDim, 2 * kLength * kDim, 2 * kDim, 1};
          c.args.q.data = c.at(0);
          c.args.o.data = c.at(0, kDim);
          c.args.k = c.args.v = c.view(3);
        }) == kNothingThrown);
}
