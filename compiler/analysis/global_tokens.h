// Whether the first tokens of a sequence see or are seen by far more tokens than others, as global tokens and attention sinks
// are: their tiles take so much longer than others that a launch should begin with them.
#pragma once

namespace fa {

class MaskSamples;

struct GlobalTokens {
  bool see = false;       // the first rows keep many more keys than a row in the middle
  bool are_seen = false;  // the first keys are kept by many more rows
};

/// By samples of the first row and key, and of those in the middle. Neither where the mask reads a tensor.
GlobalTokens find_global_tokens(MaskSamples& mask);

}  // namespace fa
