// Every check of a forward call, by its exact message; and the launch arguments of a valid call.
#include "runtime/call/arguments.h"

#include <functional>

#include "compiler/target/target.h"
#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using tests::kNothingThrown;
using tests::message_of;

namespace {

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

Tensor tensor(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t dim) {
  return Tensor::bhsd(at(0x1000), DType::bf16, batch, heads, length, dim);
}

/// Where outputs lie: apart from all inputs. Inputs may share memory with each other.
constexpr std::uintptr_t kO = 0x10000000000;

Tensor output(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t dim) {
  Tensor o = tensor(batch, heads, length, dim);
  o.data = at(kO);
  return o;
}

const Spec& spec() {
  static const Spec value = Spec::parse(
      "attention a\nhead_dim 64\nhead_dim_v 32\ndtype bf16\nparam window : i32 = 8\nparam bend : f32 = 1.5\n"
      "tensor slopes : f32[num_q_heads]\ntensor table : i8[q_len / 4, 2 * window + 1]\n"
      "score_mod = score * bend + slopes[h] + table[0, window]\n");
  return value;
}

/// A valid call.
ForwardArgs good() {
  ForwardArgs args = {.q = tensor(2, 6, 100, 64),
                      .k = tensor(2, 3, 50, 64),
                      .v = tensor(2, 3, 50, 32),
                      .o = output(2, 6, 100, 32)};
  args.tensors = {{.name = "slopes", .data = at(0x2000), .dtype = DType::f32, .shape = {6}, .rank = 1},
                  {.name = "table", .data = at(0x3001), .dtype = DType::i8, .shape = {25, 17}, .rank = 2}};
  return args;
}

/// The message about the valid call after `spoil` has changed it.
std::string refusal(const std::function<void(ForwardArgs&)>& spoil, Device device = Device::cuda,
                    const Spec& of = spec()) {
  ForwardArgs args = good();
  spoil(args);
  ForwardParams params = {};
  return message_of<ArgumentError>([&] { prepare(of.checked(), device, args, params); });
}

}  // namespace

TEST_CASE("a right call is accepted on both devices", "[runtime][arguments]") {
  CHECK(refusal([](ForwardArgs&) {}, Device::cuda) == kNothingThrown);
  CHECK(refusal([](ForwardArgs&) {}, Device::host) == kNothingThrown);
}

TEST_CASE("dtypes and shapes", "[runtime][arguments]") {
  CHECK(refusal([](ForwardArgs& a) { a.k.dtype = DType::f16; }) ==
        "k has dtype f16, the kernel takes bf16: convert it, or compile the spec with_dtype(f16)");
  CHECK(refusal([](ForwardArgs& a) { a.q.shape[0] = -1; }) ==
        "q.shape[0] (batch) is -1: it must be from 0 to 2147483647");
  CHECK(refusal([](ForwardArgs& a) { a.v.shape[2] = (1 << 24) + 1; }) ==
        "v.shape[2] (length) is 16777217: it must be from 0 to 16777216");
  CHECK(refusal([](ForwardArgs& a) { a.k.shape[1] = 0; }) ==
        "k.shape[1] (heads) is 0: there must be at least one head");
  CHECK(refusal([](ForwardArgs& a) { a.q.shape[3] = 128; }) ==
        "q.shape[3] (dim) is 128, the kernel's head_dim is 64: compile the spec with_head_dim");
  CHECK(refusal([](ForwardArgs& a) { a.o.shape[3] = 64; }) ==
        "o.shape[3] (dim) is 64, the kernel's head_dim_v is 32: compile the spec with_head_dim");
  CHECK(refusal([](ForwardArgs& a) { a.k.shape[0] = 3; }) ==
        "k.shape[0] (batch) is 3, q's is 2: they must be the same");
  CHECK(refusal([](ForwardArgs& a) { a.v.shape[1] = 6; }) ==
        "v.shape[1] (heads) is 6, k's is 3: they must be the same");
  CHECK(refusal([](ForwardArgs& a) { a.v.shape[2] = 51; }) ==
        "v.shape[2] (length) is 51, k's is 50: they must be the same");
  CHECK(refusal([](ForwardArgs& a) { a.o.shape[2] = 99; }) ==
        "o.shape[2] (length) is 99, q's is 100: they must be the same");
  CHECK(refusal([](ForwardArgs& a) { a.q.shape[1] = a.o.shape[1] = 7; }) ==
        "q has 7 heads and k has 3: the q heads must be a multiple of the kv heads");
}

TEST_CASE("a GPU's grid bounds batch and heads; the host has no such bound", "[runtime][arguments]") {
  const auto many = [](ForwardArgs& a) {
    for (Tensor* t : {&a.q, &a.k, &a.v, &a.o}) t->shape[0] = 65536;
  };
  CHECK(refusal(many) == "q.shape[0] (batch) is 65536: on a GPU it is at most 65535; split the call");
  const auto product = [](ForwardArgs& a) {
    for (Tensor* t : {&a.q, &a.k, &a.v, &a.o}) t->shape[0] = t->shape[1] = 32768;
  };
  CHECK(refusal(product) ==
        "q.shape[0] x q.shape[1] (batch x heads) is 1073741824: on a GPU it is at most 1073741823; split the "
        "call");
  // The strides are those of two, so on the host the next error is in the output, or there is none.
  CHECK(refusal(many, Device::host) == kNothingThrown);
}

TEST_CASE("addresses and strides", "[runtime][arguments]") {
  CHECK(refusal([](ForwardArgs& a) { a.o.data = nullptr; }) ==
        "o.data is null: pass the address of its first element");
  CHECK(refusal([](ForwardArgs& a) { a.k.strides[3] = 2; }) ==
        "k.strides[3] (dim) is 2: it must be 1; copy the tensor so that rows are contiguous");
  CHECK(refusal([](ForwardArgs& a) { a.q.data = at(0x1008); }) ==
        "q.data is not aligned to 16 bytes: copy the tensor to memory that is");
  CHECK(refusal([](ForwardArgs& a) { a.q.data = at(0x1008); }, Device::host) == kNothingThrown);
  CHECK(refusal([](ForwardArgs& a) { a.q.data = at(0x1001); }, Device::host) ==
        "q.data is not aligned to 2 bytes: copy the tensor to memory that is");
  CHECK(refusal([](ForwardArgs& a) { a.v.strides[1] = 2500; }) ==
        "v.strides[1] (heads) is 2500 elements, 5000 bytes: it must be a multiple of 16 bytes; pad the rows "
        "or copy "
        "the tensor");
  CHECK(refusal([](ForwardArgs& a) { a.v.strides[1] = 2500; }, Device::host) == kNothingThrown);
  CHECK(refusal([](ForwardArgs& a) { a.k.strides[2] = -64; }) ==
        "k.strides[2] (length) is -64: copy the tensor; strides count up");
  CHECK(refusal([](ForwardArgs& a) { a.k.strides[0] = std::int64_t{1} << 60; }) ==
        "k.strides[0] (batch) is 1152921504606846976: its elements lie beyond any memory");
  CHECK(refusal([](ForwardArgs& a) {
          a.q.shape[2] = a.o.shape[2] = 2;
          a.q.strides[2] = std::int64_t{1} << 31;
        }) ==
        "q.strides[2] (length) is 2147483648: CUDA kernels take row strides below 2^31 elements; copy the "
        "tensor");
  CHECK(refusal([](ForwardArgs& a) { a.lse = static_cast<float*>(at(0x1002)); }) ==
        "lse is not aligned to 4 bytes: pass the address of a float");
  // Keys and values may be shared between heads and batches; results may not.
  CHECK(refusal([](ForwardArgs& a) { a.k.strides[0] = a.k.strides[1] = a.v.strides[1] = 0; }) ==
        kNothingThrown);
  const std::string shared =
      "o.strides make elements of o share memory: pass a tensor whose elements are distinct";
  CHECK(refusal([](ForwardArgs& a) { a.o.strides[1] = 0; }) == shared);
  CHECK(refusal([](ForwardArgs& a) { a.o.strides[2] = 16; }) == shared);
  CHECK(refusal([](ForwardArgs& a) { a.o = Tensor::bshd(at(kO), DType::bf16, 2, 6, 100, 32); }) ==
        kNothingThrown);
}

TEST_CASE("outputs of a call may not overlap", "[runtime][arguments]") {
  const auto at_lse = [](std::uintptr_t address) {
    return refusal([&](ForwardArgs& a) { a.lse = static_cast<float*>(at(address)); });
  };
  constexpr std::uintptr_t kBytesOfO = 2 * 6 * 100 * 32 * 2, kBytesOfLse = 2 * 6 * 100 * 4;
  const std::string refused = "o and lse share memory, and the call writes both: give each memory of its own";
  CHECK(at_lse(kO) == refused);
  CHECK(at_lse(kO + kBytesOfO - 4) == refused);
  CHECK(at_lse(kO - kBytesOfLse) == kNothingThrown);
  CHECK(at_lse(kO - kBytesOfLse + 4) == refused);
  CHECK(at_lse(kO + kBytesOfO) == kNothingThrown);
  CHECK(refusal([](ForwardArgs& a) {
          a.workspace = at(kO);
          a.workspace_bytes = 16;
        }) == "o and workspace share memory, and the call writes both: give each memory of its own");
  CHECK(refusal([](ForwardArgs& a) {
          a.lse = static_cast<float*>(at(0x9000000));
          a.workspace = at(0x9000010);
          a.workspace_bytes = 16;
        }) == "lse and workspace share memory, and the call writes both: give each memory of its own");
  // What shares memory before its end is compared, too.
  CHECK(refusal([](ForwardArgs& a) {
          a.o.data = at(0x9000000);
          a.lse = static_cast<float*>(at(0x9000000 - 4));
        }) == refused);
}

TEST_CASE("strides of single rows mean nothing", "[runtime][arguments]") {
  const Spec plain = Spec::parse("attention a\nhead_dim 64\ndtype bf16\n");
  ForwardArgs args = {
      .q = tensor(1, 1, 1, 64), .k = tensor(1, 1, 1, 64), .v = tensor(1, 1, 1, 64), .o = output(1, 1, 1, 64)};
  for (Tensor* t : {&args.q, &args.k, &args.v, &args.o}) t->strides = {-3, 7, 5, 1};
  ForwardParams params = {};
  CHECK(prepare(plain.checked(), Device::cuda, args, params) == Work::kernel);
  for (const TensorStrides* s :
       {&params.q_strides, &params.k_strides, &params.v_strides, &params.o_strides}) {
    CHECK(s->batch == 0);
    CHECK(s->head == 0);
    CHECK(s->row == 0);
  }
}

TEST_CASE("params", "[runtime][arguments]") {
  CHECK(refusal([](ForwardArgs& a) { a.params = {{.name = "windows", .value = 1}}; }) ==
        "param 'windows' is not one of the spec's: it has window, bend");
  CHECK(refusal([](ForwardArgs& a) {
          a.params = {{.name = "window", .value = 8}, {.name = "window", .value = 9}};
        }) == "param 'window' is given twice: leave one out");
  CHECK(refusal([](ForwardArgs& a) { a.params = {{.name = "window", .value = 8.0f}}; }) ==
        "param 'window' is i32, an f32 was given: pass a std::int32_t");
  CHECK(refusal([](ForwardArgs& a) { a.params = {{.name = "bend", .value = 2}}; }) ==
        "param 'bend' is f32, an i32 was given: pass a float");
  CHECK(refusal([](ForwardArgs& a) { a.params = {{.name = "bend", .value = 2.0f}}; }) == kNothingThrown);
  const Spec plain = Spec::parse("attention a\nhead_dim 64\nhead_dim_v 32\ndtype bf16\n");
  CHECK(refusal([](ForwardArgs& a) { a.tensors.clear(), a.params = {{.name = "x", .value = 2.0f}}; },
                Device::cuda, plain) == "param 'x' is not one of the spec's: it has none");
  CHECK(refusal([](ForwardArgs&) {}, Device::cuda, plain) ==
        "tensor 'slopes' is not one of the spec's: it has none");
}

TEST_CASE("captured tensors", "[runtime][arguments]") {
  CHECK(refusal([](ForwardArgs& a) { a.tensors.pop_back(); }) ==
        "tensor 'table' is missing: add it to ForwardArgs::tensors (i8[q_len / 4, 2 * window + 1])");
  CHECK(refusal([](ForwardArgs& a) { a.tensors[0].name = "slope"; }) ==
        "tensor 'slope' is not one of the spec's: it has slopes, table");
  CHECK(refusal([](ForwardArgs& a) { a.tensors[1] = a.tensors[0]; }) ==
        "tensor 'slopes' is given twice: leave one out");
  CHECK(refusal([](ForwardArgs& a) { a.tensors[0].dtype = DType::bf16; }) ==
        "tensor 'slopes' has dtype bf16, the spec says f32: convert it");
  CHECK(refusal([](ForwardArgs& a) { a.tensors[1].rank = 1; }) ==
        "tensor 'table' has 1 dimensions, the spec says 2: [q_len / 4, 2 * window + 1]");
  CHECK(refusal([](ForwardArgs& a) { a.tensors[0].shape[0] = 3; }) ==
        "tensor 'slopes' has shape[0] = 3, in this call num_q_heads is 6");
  // An extent may depend on a param of the call.
  CHECK(refusal([](ForwardArgs& a) { a.params = {{.name = "window", .value = 9}}; }) ==
        "tensor 'table' has shape[1] = 17, in this call 2 * window + 1 is 19");
  CHECK(refusal([](ForwardArgs& a) {
          a.params = {{.name = "window", .value = 9}};
          a.tensors[1].shape[1] = 19;
        }) == kNothingThrown);
  CHECK(refusal([](ForwardArgs& a) { a.tensors[0].data = nullptr; }) ==
        "tensor 'slopes' has no data: pass the address of its first element");
  CHECK(refusal([](ForwardArgs& a) { a.tensors[0].data = at(0x2002); }) ==
        "tensor 'slopes' is not aligned to 4 bytes: copy it to memory that is");
  CHECK(refusal([](ForwardArgs& a) { std::swap(a.tensors[0], a.tensors[1]); }) == kNothingThrown);
  CHECK(refusal([](ForwardArgs& a) {
          a.q.shape[2] = a.o.shape[2] = 3;
          a.tensors[1].shape[0] = 0;
        }) == "tensor 'table' has no elements: in this call q_len / 4 is 0; make it at least 1");
  CHECK(refusal([](ForwardArgs& a) {
          a.q.shape[2] = 1 << 12;
          a.o = output(2, 6, 1 << 12, 32);
          a.params = {{.name = "window", .value = 1 << 20}};
          a.tensors[1].shape = {1 << 10, (1 << 21) + 1};
        }) == "tensor 'table' has more than 2147483647 elements: an index is an i32");
}

TEST_CASE("captured tensors of six dimensions and 64-bit numbers", "[runtime][arguments]") {
  const Spec deep = Spec::parse(
      "attention a\nhead_dim 64\nhead_dim_v 32\ndtype bf16\ntensor t : i64[batch, 2, 3, 4, 5, kv_len]\n"
      "mask_mod = t[b, 0, 1, 2, 3, kv_idx] == q_idx\n");
  const auto call = [&](const std::function<void(Captured&)>& spoil) {
    return refusal(
        [&](ForwardArgs& a) {
          a.tensors = {{.name = "t",
                        .data = at(0x3008),
                        .dtype = DType::i64,
                        .shape = {2, 2, 3, 4, 5, 50},
                        .rank = 6}};
          spoil(a.tensors[0]);
        },
        Device::cuda, deep);
  };
  CHECK(call([](Captured&) {}) == kNothingThrown);
  CHECK(call([](Captured& t) { t.dtype = DType::i32; }) ==
        "tensor 't' has dtype i32, the spec says i64: convert it");
  CHECK(call([](Captured& t) { t.shape[5] = 51; }) ==
        "tensor 't' has shape[5] = 51, in this call kv_len is 50");
  CHECK(call([](Captured& t) { t.rank = 4; }) ==
        "tensor 't' has 4 dimensions, the spec says 6: [batch, 2, 3, 4, 5, kv_len]");
  CHECK(call([](Captured& t) { t.data = at(0x3004); }) ==
        "tensor 't' is not aligned to 8 bytes: copy it to memory that is");
}

TEST_CASE("dropout", "[runtime][arguments]") {
  CHECK(refusal([](ForwardArgs& a) { a.dropout = 0.5f; }) ==
        "dropout is 0.5, but the spec has none: add a line `dropout 0.5` to it");
  CHECK(refusal([](ForwardArgs& a) { a.dropout = 0.0f; }) == kNothingThrown);
  const Spec with = Spec::parse("attention a\nhead_dim 64\nhead_dim_v 32\ndtype bf16\ndropout 0.1\n");
  for (const auto& [probability, text] :
       {std::pair{1.5f, "1.5"}, {-0.25f, "-0.25"}, {std::nanf(""), "nan"}}) {
    const std::string message = refusal(
        [&, p = probability](ForwardArgs& a) {
          a.tensors.clear();
          a.dropout = p;
        },
        Device::cuda, with);
    CHECK(message == "dropout is " + std::string(text) + ": a probability is from 0 to 1");
  }
}

TEST_CASE("empty calls need no data", "[runtime][arguments]") {
  const Spec plain = Spec::parse(
      "attention a\nhead_dim 64\ndtype bf16\ntensor doc : i32[batch, kv_len]\nmask_mod = doc[b, kv_idx] == "
      "0\n");
  const auto call = [&](std::int64_t batch, std::int64_t q_len, std::int64_t kv_len) {
    ForwardArgs args = {.q = tensor(batch, 2, q_len, 64),
                        .k = tensor(batch, 1, kv_len, 64),
                        .v = tensor(batch, 1, kv_len, 64),
                        .o = output(batch, 2, q_len, 64)};
    args.tensors = {{.name = "doc", .dtype = DType::i32, .shape = {batch, kv_len}, .rank = 2}};
    if (batch == 0 || q_len == 0) args.q.data = args.o.data = nullptr;
    if (batch == 0 || kv_len == 0) args.k.data = args.v.data = nullptr;
    ForwardParams params = {};
    return prepare(plain.checked(), Device::cuda, args, params);
  };
  CHECK(call(0, 5, 5) == Work::nothing);
  CHECK(call(2, 0, 5) == Work::nothing);
  CHECK(call(2, 0, 0) == Work::nothing);
  CHECK(call(2, 5, 0) == Work::empty_rows);
}

TEST_CASE("an element type that a cast made up is refused by name", "[runtime][arguments]") {
  constexpr auto kMadeUp = static_cast<DType>(77);
  const std::string why = "77 is no DType: pass DType::f32, or another that fa/spec.h names";
  CHECK(refusal([](ForwardArgs& a) { a.v.dtype = kMadeUp; }) == "v.dtype: " + why);
  CHECK(refusal([](ForwardArgs& a) { a.tensors[0].dtype = kMadeUp; }) == "tensor 'slopes': " + why);
  CHECK(message_of<ArgumentError>([] { spec().with_dtype(kMadeUp); }) == "with_dtype: " + why);
  CHECK(message_of<ArgumentError>([] { dtype_bytes(kMadeUp); }) == why);
  CHECK(dtype_name(kMadeUp) == "(no DType)");
  SpecParts parts;
  parts.dtype = kMadeUp;
  parts.tensors = {{.name = "t", .dtype = kMadeUp, .extents = {"4"}, .example = {}}};
  try {
    Spec::build(parts);
    FAIL("built");
  } catch (const SpecError& error) {
    REQUIRE(error.diagnostics().size() == 2);
    CHECK(error.diagnostics()[0].render().starts_with("<dtype>: error: " + why));
    CHECK(error.diagnostics()[1].render().starts_with("<tensor t>: error: " + why));
  }
}

TEST_CASE("a plan or a target that there is not is an ArgumentError", "[runtime][arguments]") {
  for (const char* plan : {"tile_q=soon", "tile_kv=96 x", "\x01\xff=3", "=", "tile_q=99999999999", "warps=-4",
                           "tile_q=2147483647", "sm75"})
    CHECK(message_of<ArgumentError>([&] {
            compile(Spec::parse("attention a\n"), {.device = Device::host, .plan = plan});
          }).starts_with("plan"));
  CHECK(message_of<ArgumentError>([] { find_target("voodoo2"); }).starts_with("no target is called"));
}
