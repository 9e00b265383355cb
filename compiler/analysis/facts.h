// What the analyses know about a spec's hooks: which part of the work depends on what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/analysis/band.h"
#include "compiler/analysis/global_tokens.h"
#include "compiler/analysis/listed_keys.h"
#include "compiler/analysis/logits.h"
#include "compiler/analysis/mask_blocks.h"
#include "compiler/ir/depends_on.h"
#include "compiler/ir/hook_ir.h"

namespace fa {

/// How score_mod uses the score.
enum class ScoreForm : std::uint8_t {
  identity,  // no score_mod, or one that returns the score
  affine,    // multiplier * score + addend, neither depends on the score
  general
};

/// Whether kernels may add to raw scores what stands beside scaled ones: an addend divided by the scale stays
/// far from the largest float.
constexpr bool can_divide_by(double scale) { return scale >= 1e-10 && scale <= 1e10; }

struct Facts {
  bool has_score_mod = false;
  bool has_mask = false;
  ScoreForm score_form = ScoreForm::identity;
  DependsOn score_mod;  // of the whole result
  DependsOn mask_mod;
  DependsOn multiplier;         // affine only
  DependsOn addend;             // affine only
  bool addend_is_zero = true;   // affine only: what is left beside the row's terms
  bool has_row_addend = false;  // affine only: terms that no key changes, which `addend` lacks (row_addend.h)
  bool multiplier_is_one = true;  // affine only: the spec's own; the scale comes on top
  // Whether q_idx and kv_idx come in through their difference alone (relative.h).
  bool addend_is_relative = false;
  // Whether the addend depends on both and grows with kv_idx by one number a head (slope.h), and the
  // multiplier is one: GPU kernels then add multiples of that number.
  bool addend_is_linear = false;
  bool mask_is_relative = false;
  // Whether GPU kernels find it once a diagonal: it is relative, and worth the fetch from another thread.
  bool addend_is_by_diagonal = false;
  bool mask_is_by_diagonal = false;
  bool addend_reads_elements = false;  // a tensor, at both q_idx and kv_idx
  bool addend_is_element = false;      // a number times that element, of 16 bits, and nothing else
  bool has_sink = false;
  std::optional<Band> mask_band;  // of a relative mask
  GlobalTokens global_tokens;
  MaskBlocks mask_blocks;            // of a mask that is not relative
  bool mask_keeps_segments = false;  // of a table: documents (mask_segments.h)
  bool mask_is_always_true = false;  // proved
  bool mask_is_always_false = false;
  // LLVM instructions left in what kernels evaluate (score_mod and mask_mod), by how often they run;
  // addresses and the indices as floats are not counted.
  int element_ops = 0;
  int diagonal_ops = 0;  // of values that q_idx - kv_idx alone decides: GPU kernels find them once a diagonal
  int row_ops = 0;       // per q row
  int column_ops = 0;    // per kv column
  std::vector<ClampedRead> clamped;
  Logits logits;           // what kernels evaluate in place of score_mod
  ListedKeys listed_keys;  // what GPU kernels evaluate in place of such a mask

  std::string print() const;  // a few `key: value` lines, the text of `facet emit --stage facts`
};

/// Whether addends that are linear in kv_idx become slopes, which a kernel keeps for all of its tiles.
enum class WithSlopes : std::uint8_t { derived, left_out };

/// Analyses the hooks and derives the functions that kernels evaluate, verified.
Facts analyse(const CheckedSpec& spec, const HookIr& hooks, WithSlopes slopes = WithSlopes::derived);

}  // namespace fa
