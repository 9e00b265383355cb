// The bundle reader: files, and manifests with a file around them.
#include <algorithm>
#include <cstring>

#include "compiler/program/grid.h"
#include "compiler/program/workspace.h"
#include "runtime/bundle/state.h"
#include "runtime/cuda/launch_abi.h"
#include "runtime/system/hash.h"
#include "tests/fuzz/targets.h"

namespace fa::fuzz {
namespace {

Key check_of(std::string_view text) { return hash_texts(std::span(&text, 1)); }

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// A file around a manifest: two cubins of 64 equal bytes, with right checksums. Written after
/// docs/bundles.md, without code of Facet's.
std::string file_around(std::string manifest) {
  const std::string image(64, 'i');
  replace_all(manifest, "@launch@", check_of(launch_abi()).hex());
  replace_all(manifest, "@check@", check_of(image).hex());
  std::string bytes = "facetbnd";
  const auto append = [&](std::uint64_t number, std::size_t size) {
    bytes.append(reinterpret_cast<const char*>(&number), size);
  };
  append(1, 4);
  append(64, 4);
  append(manifest.size(), 8);
  append(aligned(64 + manifest.size()) + 2 * image.size(), 8);
  const std::string_view texts[] = {bytes, manifest};
  const Key check = hash_texts(texts);
  append(check.high, 8);
  append(check.low, 8);
  bytes.resize(64);
  bytes += manifest;
  bytes.resize(aligned(bytes.size()));
  return bytes + image + image;
}

void pick_everything(const BundleContents& contents) {
  const auto state = make_bundle_state("fuzz", contents);
  for (const BundleEntry& entry : state->entries) {
    for (const int compute_capability : {75, 80, 90, 120}) {
      try {
        const BundleKernel& kernel = pick_kernel(*state, entry.name, entry.head_dim, entry.dtype,
                                                 {.name = "gpu", .compute_capability = compute_capability});
        require(runs_on(kernel.arch, compute_capability), "a kernel for another GPU was chosen");
      } catch (const BundleError&) {
      }
    }
  }
}

/// What would be launched for calls of several sizes.
void count_blocks(const Program& program) {
  require(!program.empty() && program.size() <= kMostPasses, "a kernel of too few or too many passes");
  for (const int length : {1, 1000, 1 << 24}) {
    ForwardParams params{};
    params.call.batch = 3;
    params.call.num_q_heads = 8;
    params.call.q_len = params.call.kv_len = length;
    params.head_shift = 2;
    for (const Pass& pass : program) {
      const Blocks blocks = blocks_of(pass, params);
      require(blocks.x > 0 && blocks.y > 0 && blocks.z > 0, "a grid without blocks");
    }
    const bool has_map =
        std::ranges::any_of(program, [](const Pass& pass) { return pass.tile_map.has_value(); });
    require((workspace_bytes(program, params.call) > 0) == has_map,
            "a workspace for nothing, or none for a map");
  }
}

}  // namespace

void fuzz_bundle(std::string_view bytes) {
  std::string file(bytes);
  if (bytes.starts_with('m')) file = file_around(file.substr(1));
  try {
    const BundleContents contents = decode_bundle(file, "fuzz");
    const std::string canonical = encode_bundle(contents);
    require(encode_bundle(decode_bundle(canonical, "again")) == canonical,
            "a bundle changes when it is copied");
    pick_everything(contents);
    for (const BundleKernel& kernel : contents.kernels) count_blocks(kernel.binary.program);
  } catch (const BundleError& error) {
    const std::string_view what = error.what();
    require(what.starts_with("fuzz: "), "a refusal that does not name the file: " + std::string(what));
  }
}

}  // namespace fa::fuzz
