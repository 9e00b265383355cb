#include "examples/train/model.h"

#include <cmath>
#include <random>

namespace train {
namespace {

void add(Floats& to, const Floats& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

Parameter random_matrix(std::size_t inputs, std::size_t outputs, std::mt19937& random) {
  std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(inputs)));
  Parameter matrix(inputs * outputs);
  for (float& x : matrix.value) x = normal(random);
  return matrix;
}

}  // namespace

Model::Model(const std::string& spec, const Shape& shape, std::size_t columns, std::size_t vocabulary,
             int blocks, unsigned seed)
    : shape_(shape), vocabulary_(vocabulary), embedding_(0), last_gain_(shape.width(), 1), to_logits_(0) {
  std::mt19937 random(seed);
  const std::size_t width = shape.width();
  embedding_ = random_matrix(1, vocabulary * width, random);
  to_logits_ = random_matrix(width, vocabulary, random);
  for (int i = 0; i < blocks; ++i)
    blocks_.push_back({.attention = std::make_unique<Attention>(spec, shape, columns),
                       .attention_gain = Parameter(width, 1),
                       .to_qkv = random_matrix(width, 3 * width, random),
                       .from_heads = random_matrix(width, width, random),
                       .feed_gain = Parameter(width, 1),
                       .widen = random_matrix(width, 4 * width, random),
                       .narrow = random_matrix(4 * width, width, random)});
}

Floats Model::run_block(Block& block, Floats x) const {
  const std::size_t width = shape_.width();
  block.x = std::move(x);
  block.normalised = normalise(block.x, block.attention_gain.value);
  block.saved.qkv = multiply(block.normalised, block.to_qkv.value, width, 3 * width);
  block.attention->forward(block.saved);
  block.middle = multiply(block.saved.o, block.from_heads.value, width, width);
  add(block.middle, block.x);
  block.middle_normalised = normalise(block.middle, block.feed_gain.value);
  block.hidden = multiply(block.middle_normalised, block.widen.value, width, 4 * width);
  relu(block.hidden);
  Floats y = multiply(block.hidden, block.narrow.value, 4 * width, width);
  add(y, block.middle);
  return y;
}

Floats Model::reverse_block(Block& block, Floats dx) const {
  const std::size_t width = shape_.width();
  Floats d_hidden = multiply_backward(dx, block.hidden, block.narrow, 4 * width, width);
  relu_backward(d_hidden, block.hidden);
  const Floats d_middle = multiply_backward(d_hidden, block.middle_normalised, block.widen, width, 4 * width);
  normalise_backward(d_middle, block.middle, block.feed_gain, dx);
  Floats d_o = multiply_backward(dx, block.saved.o, block.from_heads, width, width);
  const Floats d_qkv = block.attention->backward(block.saved, d_o);
  const Floats d_normalised = multiply_backward(d_qkv, block.normalised, block.to_qkv, width, 3 * width);
  normalise_backward(d_normalised, block.x, block.attention_gain, dx);
  return dx;
}

Floats Model::forward(const Batch& batch) {
  const std::size_t width = shape_.width();
  Floats x(batch.tokens.size() * width);
  for (std::size_t i = 0; i < batch.tokens.size(); ++i)
    for (std::size_t j = 0; j < width; ++j)
      x[i * width + j] = embedding_.value[static_cast<std::size_t>(batch.tokens[i]) * width + j];
  for (Block& block : blocks_) x = run_block(block, std::move(x));
  last_ = std::move(x);
  last_normalised_ = normalise(last_, last_gain_.value);
  return multiply(last_normalised_, to_logits_.value, width, vocabulary_);
}

void Model::backward(const Batch& batch, const Floats& d_logits) {
  const std::size_t width = shape_.width();
  const Floats d_normalised = multiply_backward(d_logits, last_normalised_, to_logits_, width, vocabulary_);
  Floats dx(last_.size());
  normalise_backward(d_normalised, last_, last_gain_, dx);
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
    dx = reverse_block(*block, std::move(dx));
  for (std::size_t i = 0; i < batch.tokens.size(); ++i)
    for (std::size_t j = 0; j < width; ++j)
      embedding_.gradient[static_cast<std::size_t>(batch.tokens[i]) * width + j] += dx[i * width + j];
}

double Model::loss(const Batch& batch) {
  Floats logits = forward(batch);
  return cross_entropy(logits, batch.targets, vocabulary_);
}

double Model::learn(const Batch& batch) {
  Floats logits = forward(batch);
  const double loss = cross_entropy(logits, batch.targets, vocabulary_);
  backward(batch, logits);
  return loss;
}

std::vector<Parameter*> Model::parameters() {
  std::vector<Parameter*> all{&embedding_, &last_gain_, &to_logits_};
  for (Block& block : blocks_)
    for (Parameter* parameter : {&block.attention->captured(), &block.attention_gain, &block.to_qkv,
                                 &block.from_heads, &block.feed_gain, &block.widen, &block.narrow})
      all.push_back(parameter);
  return all;
}

void Model::step(int number, float learning_rate) {
  for (Parameter* parameter : parameters()) adam(*parameter, number, learning_rate);
}

}  // namespace train
