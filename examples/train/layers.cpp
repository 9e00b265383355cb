#include "examples/train/layers.h"

#include <algorithm>
#include <cmath>

namespace train {
namespace {

constexpr float kEpsilon = 1e-6f;

float inverse_rms(const float* row, std::size_t columns) {
  float sum = 0;
  for (std::size_t i = 0; i < columns; ++i) sum += row[i] * row[i];
  return 1 / std::sqrt(sum / static_cast<float>(columns) + kEpsilon);
}

}  // namespace

Floats multiply(const Floats& x, const Floats& w, std::size_t inputs, std::size_t outputs) {
  const std::size_t rows = x.size() / inputs;
  Floats y(rows * outputs);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t j = 0; j < outputs; ++j)
        y[row * outputs + j] += x[row * inputs + i] * w[i * outputs + j];
  return y;
}

Floats multiply_backward(const Floats& dy, const Floats& x, Parameter& w, std::size_t inputs,
                         std::size_t outputs) {
  const std::size_t rows = x.size() / inputs;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t j = 0; j < outputs; ++j)
        w.gradient[i * outputs + j] += x[row * inputs + i] * dy[row * outputs + j];
  Floats transposed(w.value.size());
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t j = 0; j < outputs; ++j) transposed[j * inputs + i] = w.value[i * outputs + j];
  return multiply(dy, transposed, outputs, inputs);
}

Floats normalise(const Floats& x, const Floats& gain) {
  const std::size_t columns = gain.size();
  Floats y(x.size());
  for (std::size_t row = 0; row < x.size(); row += columns) {
    const float factor = inverse_rms(&x[row], columns);
    for (std::size_t i = 0; i < columns; ++i) y[row + i] = gain[i] * x[row + i] * factor;
  }
  return y;
}

void normalise_backward(const Floats& dy, const Floats& x, Parameter& gain, Floats& dx) {
  const std::size_t columns = gain.value.size();
  for (std::size_t row = 0; row < x.size(); row += columns) {
    const float factor = inverse_rms(&x[row], columns);
    float along = 0;  // how far the gradient points along x, which the normalisation takes away
    for (std::size_t i = 0; i < columns; ++i) {
      gain.gradient[i] += dy[row + i] * x[row + i] * factor;
      along += gain.value[i] * dy[row + i] * x[row + i];
    }
    along *= factor * factor / static_cast<float>(columns);
    for (std::size_t i = 0; i < columns; ++i)
      dx[row + i] += factor * (gain.value[i] * dy[row + i] - along * x[row + i]);
  }
}

void relu(Floats& x) {
  for (float& value : x) value = std::max(value, 0.0f);
}

void relu_backward(Floats& dy, const Floats& y) {
  for (std::size_t i = 0; i < dy.size(); ++i)
    if (y[i] == 0) dy[i] = 0;
}

double cross_entropy(Floats& logits, const std::vector<int>& targets, std::size_t classes) {
  double loss = 0;
  const float share = 1 / static_cast<float>(targets.size());
  for (std::size_t row = 0; row < targets.size(); ++row) {
    float* const logit = &logits[row * classes];
    const float highest = *std::max_element(logit, logit + classes);
    const auto target = static_cast<std::size_t>(targets[row]);
    const float target_logit = logit[target];
    float sum = 0;
    for (std::size_t i = 0; i < classes; ++i) sum += logit[i] = std::exp(logit[i] - highest);
    loss += std::log(sum) + highest - target_logit;
    for (std::size_t i = 0; i < classes; ++i) logit[i] *= share / sum;
    logit[target] -= share;
  }
  return loss / static_cast<double>(targets.size());
}

void adam(Parameter& parameter, int step, float learning_rate) {
  constexpr float kMeanDecay = 0.9f, kVarianceDecay = 0.99f, kSmallest = 1e-8f;
  const float mean_share = 1 - std::pow(kMeanDecay, static_cast<float>(step));
  const float variance_share = 1 - std::pow(kVarianceDecay, static_cast<float>(step));
  for (std::size_t i = 0; i < parameter.value.size(); ++i) {
    float& gradient = parameter.gradient[i];
    float& mean = parameter.mean[i];
    float& variance = parameter.variance[i];
    mean = kMeanDecay * mean + (1 - kMeanDecay) * gradient;
    variance = kVarianceDecay * variance + (1 - kVarianceDecay) * gradient * gradient;
    parameter.value[i] -=
        learning_rate * (mean / mean_share) / (std::sqrt(variance / variance_share) + kSmallest);
    gradient = 0;
  }
}

}  // namespace train
