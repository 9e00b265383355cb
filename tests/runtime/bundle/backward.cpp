// Bundles with backward passes: what goes in comes out, what Facet does not write is refused, and `backward` runs
// where it was built. Cubins are only bytes here; tests/tools/command/bundle.cpp makes real ones.
#include "fa/backward.h"

#include <optional>

#include "compiler/spec/spec.h"
#include "fa/bundle.h"
#include "runtime/bundle/state.h"
#include "tests/catch.h"
#include "tests/runtime/bundle/fixture.h"
#include "tests/runtime/cuda/fake_driver.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using namespace fa::tests;

namespace {

BundleContents copy_of(const BundleContents& contents) { return decode_bundle(encode_bundle(contents), "x"); }

std::string why_not(const BundleContents& contents) {
  return message_of<BundleError>([&] { copy_of(contents); });
}

/// A call of `causal`.
BackwardArgs arguments() {
  const auto tensor = [](std::uintptr_t address) {
    return Tensor::bhsd(at(address), DType::bf16, 2, 3, 130, 64);
  };
  BackwardArgs args;
  args.forward = {.q = tensor(0x100000000),
                  .k = tensor(0x200000000),
                  .v = tensor(0x300000000),
                  .o = tensor(0x400000000),
                  .lse = static_cast<float*>(at(0x500000000))};
  args.d_o = tensor(0x600000000);
  args.d_q = tensor(0x700000000);
  args.d_k = tensor(0x800000000);
  args.d_v = tensor(0x900000000);
  return args;
}

}  // namespace

TEST_CASE("a bundle's bytes give back its backward passes", "[runtime][bundle][backward]") {
  const BundleContents before = sample_with_backward();
  const BundleContents after = copy_of(before);
  CHECK(encode_bundle(after) == encode_bundle(before));
  REQUIRE(after.kernels.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(after.kernels[i].binary.image == before.kernels[i].binary.image);
    REQUIRE(after.kernels[i].backward);
    const BundleBackward &a = *after.kernels[i].backward, &b = *before.kernels[i].backward;
    CHECK(a.plan == "backward plan");
    CHECK(a.binary.image == b.binary.image);
    CHECK(print(a.binary.program) == print(b.binary.program));
    CHECK(a.binary.registers == 250);
    CHECK(a.binary.spill_bytes == 8);
  }
  CHECK(after.kernels[1].backward->binary.program[3].exact_gradients ==
        before.kernels[1].backward->binary.program[3].exact_gradients);
  // What gets gradients is known without the hooks that they go through.
  const CheckedSpec& biased = after.specs[1].checked();
  CHECK(biased.score_mod == nullptr);
  CHECK_FALSE(biased.params[0].grad);
  CHECK(biased.params[1].grad);
  CHECK(biased.tensors[0].info.grad);
  CHECK(after.specs[1].tensors()[0].grad);
  const auto state = make_bundle_state("x", after);
  CHECK(state->entries[1].backward);
  CHECK(state->entries[1].bytes == 1090 + 910);

  BundleContents forward = before;
  for (BundleKernel& kernel : forward.kernels) kernel.backward.reset();
  const BundleContents without = copy_of(forward);
  CHECK_FALSE(without.specs[1].checked().tensors[0].info.grad);
  CHECK_FALSE(make_bundle_state("x", without)->entries[1].backward);
}

TEST_CASE("every changed bit of a backward pass's cubin is noticed", "[runtime][bundle][backward]") {
  std::string bytes = encode_bundle(sample_with_backward());
  bytes[bytes.rfind(image_of(7, 910)) + 500] ^= 1;
  CHECK(
      message_of<BundleError>([&] { decode_bundle(bytes, "x"); }) ==
      "x: is damaged: the cubin of 'biased', backward, for sm_90 does not have its checksum; copy it again, "
      "or build it again");
}

TEST_CASE("backward passes that Facet does not write are refused", "[runtime][bundle][backward]") {
  const auto changed = [](const auto& change) {
    BundleContents contents = sample_with_backward();
    change(contents.kernels[1].backward->binary.program);
    return why_not(contents);
  };
  CHECK(changed([](Program& program) { program[3].exact_gradients.clear(); }) ==
        "x: manifest: kernels[1].backward.passes[3].exact_gradients are not what the pass's grid asks for; "
        "build it again");
  CHECK(changed([](Program& program) { program[1].exact_gradients = {{.number = 2}}; }) ==
        "x: manifest: kernels[1].backward.passes[1].exact_gradients are not what the pass's grid asks for; "
        "build it again");
  CHECK(changed([](Program& program) { program[3].exact_gradients[1].number = 1; }) ==
        "x: manifest: kernels[1].backward.passes[3].exact_gradients[1].gradient is no whole number from 2 to "
        "31; build it again");
  CHECK(changed([](Program& program) { program.push_back(program[3]); }) ==
        "x: manifest: kernels[1].backward.passes[4].grid is the second of this kernel; build it again");
  // Tile maps may be several: a walk has its own.
  CHECK(changed([](Program& program) {
          const Pass map = {.entry = "map",
                            .grid = Grid::tile_map,
                            .tile_q = 64,
                            .tile_kv = 64,
                            .threads = 512,
                            .tile_map = TileMapShape{}};
          program.insert(program.begin() + 1, map);
          program.insert(program.begin() + 3, map);
        }).find("(nothing was thrown)") == 0);
  BundleContents contents = sample_with_backward();
  contents.kernels[0].binary.program[0].grid = Grid::kv_tiles;
  CHECK(why_not(contents) ==
        "x: manifest: kernels[0].passes[0].grid is no rule of this program's, such as q_tiles; build it "
        "again");
}

TEST_CASE("a kernel of a bundle runs its backward pass", "[runtime][bundle][backward]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  std::optional<Kernel> kernel;
  kernel = load_kernel(*make_bundle_state("x", copy_of(sample_with_backward())), "causal", 64, DType::bf16,
                       device);
  CHECK(fake().modules_loaded == 2);
  BackwardArgs args = arguments();
  args.workspace_bytes = kernel->backward_workspace_bytes(args);
  CHECK(args.workspace_bytes > 0);
  args.workspace = at(0xa00000000);
  kernel->backward(args, at(0x9000));
  REQUIRE(fake().launches == 3);
  CHECK(fake().first[0].entry == "facet_row_stats");
  CHECK(fake().first[2].entry == "facet_d_q");
  kernel.reset();
  CHECK(fake().modules_unloaded == 2);
}

TEST_CASE("a kernel of a bundle that was built without says so", "[runtime][bundle][backward]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel =
      load_kernel(*make_bundle_state("x", sample_bundle()), "causal", 64, DType::bf16, device);
  CHECK(message_of<ArgumentError>([&] { kernel.backward(arguments()); }) ==
        "this kernel has no backward pass: build the bundle with `facet build --backward`");
}
