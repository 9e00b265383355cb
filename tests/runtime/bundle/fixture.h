// A bundle without NVRTC: two specs, cubins that are only bytes.
#pragma once

#include <string>

#include "runtime/bundle/format.h"

namespace fa::tests {

inline std::string image_of(int number, std::size_t bytes) {
  std::string image(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i)
    image[i] = static_cast<char>(number * 31 + static_cast<int>(i) * 7 + 1);
  return image;
}

inline BundleKernel kernel_of(std::size_t spec, const std::string& arch, int number) {
  return {.spec = spec,
          .arch = arch,
          .plan = "plan " + arch,
          .binary = {.image = image_of(number, 1000 + 30 * static_cast<std::size_t>(number)),
                     .program = {{.entry = "facet_forward",
                                  .grid = Grid::q_tiles,
                                  .tile_q = 64,
                                  .tile_kv = 32,
                                  .threads = 128,
                                  .shared_memory = 50000}},
                     .registers = 168,
                     .spill_bytes = 4}};
}

/// causal bf16 d64 for sm_75, sm_80, sm_90a; windowed f16 d64 v128, with a param, a tensor and a tile map,
/// for sm_80.
inline BundleContents sample_bundle() {
  BundleContents contents{.facet = "0.1.0", .nvrtc = 1300, .specs = {}, .kernels = {}};
  contents.specs = {
      Spec::parse("attention causal\nhead_dim 64\ndtype bf16\nmask_mod = q_idx >= kv_idx\n"),
      Spec::parse("attention windowed\nhead_dim 64\nhead_dim_v 128\ndtype f16\nscale 0.25\n"
                  "param window : i32 = 7\ntensor doc : i32[batch, kv_len]\n"
                  "mask_mod = q_idx - kv_idx < window and doc[b, kv_idx] == 3\ndropout 0.25\n")};
  contents.kernels = {kernel_of(0, "sm_75", 0), kernel_of(0, "sm_80", 1), kernel_of(0, "sm_90a", 2),
                      kernel_of(1, "sm_80", 3)};
  Program& windowed = contents.kernels[3].binary.program;
  windowed[0].overlaps = true;
  windowed.insert(windowed.begin(),
                  {.entry = "facet_tile_map",
                   .grid = Grid::tile_map,
                   .tile_q = 64,
                   .tile_kv = 32,
                   .threads = 512,
                   .overlaps = true,
                   .tile_map = TileMapShape{.of_batch = true, .of_head = false, .has_plain = true}});
  return contents;
}

/// causal bf16 d64 and a learned bias f16 d64, for sm_90, both with a backward pass.
inline BundleContents sample_with_backward() {
  BundleContents contents{.facet = "0.1.0", .nvrtc = 1300, .specs = {}, .kernels = {}};
  contents.specs = {Spec::parse("attention causal\nhead_dim 64\ndtype bf16\nmask_mod = q_idx >= kv_idx\n"),
                    Spec::parse("attention biased\nhead_dim 64\ndtype f16\nparam factor : f32 = 2.0\n"
                                "param rate : f32 = 0.5 grad\ntensor bias : bf16[num_q_heads, kv_len] grad\n"
                                "score_mod = score * factor + rate * bias[h, kv_idx]\n")};
  contents.kernels = {kernel_of(0, "sm_90", 1), kernel_of(1, "sm_90", 3)};
  const auto pass = [](const std::string& entry, Grid grid) {
    return Pass{.entry = entry, .grid = grid, .tile_q = 128, .tile_kv = 64, .threads = 128};
  };
  for (BundleKernel& kernel : contents.kernels)
    kernel.backward = {
        .plan = "backward plan",
        .binary = {.image = image_of(7, 900 + 10 * kernel.spec),
                   .program = {pass("facet_row_stats", Grid::row_stats), pass("facet_d_kv", Grid::kv_tiles),
                               pass("facet_d_q", Grid::d_q_sums)},
                   .registers = 250,
                   .spill_bytes = 8}};
  Program& repeats = contents.kernels[1].backward->binary.program;
  repeats[2].grid = Grid::q_tiles;
  repeats.push_back(pass("facet_captured", Grid::exact_sums));
  repeats[3].exact_gradients = {{.number = 1},
                                {.number = 16, .is_once = true, .of_batch = false, .of_head = true}};
  return contents;
}

}  // namespace fa::tests
