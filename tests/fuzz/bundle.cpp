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

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++found;
  return found;
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

ForwardParams call_of(int length) {
  ForwardParams params{};
  params.call.batch = 3;
  params.call.num_q_heads = 8;
  params.call.num_kv_heads = 2;
  params.call.group_size = 4;
  params.call.q_len = params.call.kv_len = length;
  return params;
}

void count_blocks(const Program& program, const ForwardParams& params) {
  require(!program.empty() && program.size() <= kMostPasses, "a kernel of too few or too many passes");
  for (const Pass& pass : program) {
    ForwardParams of_pass = params;
    of_pass.head_shift = is_of_keys(pass.grid) ? 1 : 2;  // of 2 heads of K and V, of 8 of Q
    const Blocks blocks = blocks_of(pass, of_pass);
    require(blocks.x > 0 && blocks.y > 0 && blocks.z > 0, "a grid without blocks");
  }
}

/// What would be launched for calls of several sizes.
void launch_forward(const Program& program) {
  for (const int length : {1, 1000, 1 << 24}) {
    const ForwardParams params = call_of(length);
    count_blocks(program, params);
    const bool has_map =
        std::ranges::any_of(program, [](const Pass& pass) { return pass.tile_map.has_value(); });
    require((workspace_bytes(program, params.call) > 0) == has_map,
            "a workspace for nothing, or none for a map");
  }
}

void launch_backward(const Program& program) {
  for (const int length : {1, 1000, 1 << 24}) {
    BackwardParams params{};
    params.forward = call_of(length);
    count_blocks(program, params.forward);
    // An element of each gradient more takes no less.
    const std::size_t least = workspace_bytes(program, params);
    for (long long& elements : params.elements) elements = 1;
    require(workspace_bytes(program, params) >= least, "a workspace that gets smaller");
  }
}

}  // namespace

std::string bundle_around(std::string manifest) {
  const std::string image(64, 'i');
  const std::size_t images = count(manifest, "@check@");
  replace_all(manifest, "@launch@", check_of(launch_abi()).hex());
  replace_all(manifest, "@check@", check_of(image).hex());
  std::string bytes = "facetbnd";
  const auto append = [&](std::uint64_t number, std::size_t size) {
    bytes.append(reinterpret_cast<const char*>(&number), size);
  };
  append(2, 4);  // the format's version
  append(64, 4);
  append(manifest.size(), 8);
  append(aligned(64 + manifest.size()) + images * image.size(), 8);
  const std::string_view texts[] = {bytes, manifest};
  const Key check = hash_texts(texts);
  append(check.high, 8);
  append(check.low, 8);
  bytes.resize(64);
  bytes += manifest;
  bytes.resize(aligned(bytes.size()));
  for (std::size_t i = 0; i < images; ++i) bytes += image;
  return bytes;
}

void fuzz_bundle(std::string_view bytes) {
  std::string file(bytes);
  if (bytes.starts_with('m')) file = bundle_around(file.substr(1));
  try {
    const BundleContents contents = decode_bundle(file, "fuzz");
    const std::string canonical = encode_bundle(contents);
    require(encode_bundle(decode_bundle(canonical, "again")) == canonical,
            "a bundle changes when it is copied");
    pick_everything(contents);
    for (const BundleKernel& kernel : contents.kernels) {
      launch_forward(kernel.binary.program);
      for (const BundleBucket& bucket : kernel.buckets) launch_forward(bucket.binary.program);
      if (kernel.backward) launch_backward(kernel.backward->binary.program);
    }
  } catch (const BundleError& error) {
    const std::string_view what = error.what();
    require(what.starts_with("fuzz: "), "a refusal that does not name the file: " + std::string(what));
  }
}

}  // namespace fa::fuzz
