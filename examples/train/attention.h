// Attention with a learnable part, by Facet: one kernel with its backward pass, compiled from a few lines.
#pragma once

#include <fa/fa.h>

#include <string>

#include "examples/train/layers.h"

namespace train {

/// The sizes of one training step.
struct Shape {
  std::int64_t batch, length, heads, head_dim;
  std::size_t width() const { return static_cast<std::size_t>(heads * head_dim); }
  std::size_t tokens() const { return static_cast<std::size_t>(batch * length); }
};

class Attention {
 public:
  /// Compiles `spec` for the host. Its only captured tensor, if there is one, is [heads, `columns`] and marked `grad`.
  Attention(const std::string& spec, const Shape& shape, std::size_t columns);

  /// What `spec` captures: empty where that is nothing.
  Parameter& captured() { return captured_; }

  /// `qkv` [batch, length, 3, heads, head_dim]; returns [batch, length, heads, head_dim]. Both, and the row sums, are
  /// kept for `backward`, by the caller.
  struct Saved {
    Floats qkv, o, lse;
  };
  void forward(Saved& saved) const;

  /// Returns the gradient by `qkv`, and adds to that of the captured tensor.
  Floats backward(const Saved& saved, Floats& d_o);

 private:
  fa::ForwardArgs arguments(const Saved& saved) const;

  Shape shape_;
  fa::Kernel kernel_;
  Parameter captured_;
  std::string captured_name_;
  Floats workspace_;
};

}  // namespace train
