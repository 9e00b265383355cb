// The parts of a transformer that are not attention, forward and backward, on row-major f32 matrices.
#pragma once

#include <cstddef>
#include <vector>

namespace train {

using Floats = std::vector<float>;

/// What is learned: its value, the gradient that one step adds up, and Adam's two averages.
struct Parameter {
  explicit Parameter(std::size_t size, float start = 0)
      : value(size, start), gradient(size), mean(size), variance(size) {}
  Floats value, gradient, mean, variance;
};

/// y = x w. x [rows, inputs], w [inputs, outputs].
Floats multiply(const Floats& x, const Floats& w, std::size_t inputs, std::size_t outputs);

/// Given dy [rows, outputs] of y = x w: adds to w's gradient and returns dx.
Floats multiply_backward(const Floats& dy, const Floats& x, Parameter& w, std::size_t inputs,
                         std::size_t outputs);

/// Root mean square normalisation (Zhang and Sennrich, 2019): y = gain x / rms(x), of each row of gain's length.
Floats normalise(const Floats& x, const Floats& gain);
/// Given dy: adds to the gain's gradient and to dx.
void normalise_backward(const Floats& dy, const Floats& x, Parameter& gain, Floats& dx);

/// max(x, 0) in place; and its backward pass: dy is zeroed where y is 0.
void relu(Floats& x);
void relu_backward(Floats& dy, const Floats& y);

/// The mean of -log softmax(logits)[target] over the rows, in nats; `logits` become its gradient by them.
double cross_entropy(Floats& logits, const std::vector<int>& targets, std::size_t classes);

/// One step of Adam (Kingma and Ba, 2015); `step` counts from 1. The gradient is zero afterwards.
void adam(Parameter& parameter, int step, float learning_rate);

}  // namespace train
