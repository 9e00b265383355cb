// Whether a mask asks for the blocks that tokens are in, as block-sparse layouts do: tiles that lie inside a block then have no
// edge of the mask in them.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace fa {

struct MaskBlocks {
  // Queries and keys of a block; aligned blocks, each token's own where the mask asks for the token itself.
  int queries = 1;
  int keys = 1;
  // Whether tokens are compared as well: with each other, or with a number that is no block's first.
  bool has_line = false;
};

/// By how `mask_mod` uses q_idx and kv_idx: divided by constants, or compared.
MaskBlocks find_mask_blocks(const llvm::Function& mask_mod);

}  // namespace fa
