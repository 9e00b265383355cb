// A small character model: an embedding, blocks of attention and a feed-forward layer, logits of the next character.
// It has no position embedding: what its attention is told of distance is all that it knows of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "examples/train/attention.h"

namespace train {

/// Token ids of `shape.batch` sequences, one after the other, and the character that follows each.
struct Batch {
  std::vector<int> tokens, targets;
};

class Model {
 public:
  /// `spec`: what attention computes in every block; `columns` as in Attention. The same `seed` makes the same model.
  Model(const std::string& spec, const Shape& shape, std::size_t columns, std::size_t vocabulary, int blocks,
        unsigned seed);

  /// The loss of a batch in nats a character, after which the gradients are there for `step`.
  double learn(const Batch& batch);
  /// The loss alone.
  double loss(const Batch& batch);
  void step(int number, float learning_rate);

  /// What the first block's attention captures, [heads, columns].
  const Floats& captured() { return blocks_.front().attention->captured().value; }

  /// All parameters, for `step` and for checks of the gradients.
  std::vector<Parameter*> parameters();

 private:
  struct Block {
    std::unique_ptr<Attention> attention;
    Parameter attention_gain, to_qkv, from_heads, feed_gain, widen, narrow;
    // What the forward pass leaves for the backward pass: each layer's input.
    Floats x = {}, normalised = {}, middle = {}, middle_normalised = {}, hidden = {};
    Attention::Saved saved = {};
  };

  Floats forward(const Batch& batch);
  void backward(const Batch& batch, const Floats& d_logits);
  Floats run_block(Block& block, Floats x) const;
  Floats reverse_block(Block& block, Floats dx) const;

  Shape shape_;
  std::size_t vocabulary_;
  std::vector<Block> blocks_;
  Parameter embedding_, last_gain_, to_logits_;
  Floats last_, last_normalised_;
};

}  // namespace train
