// Trains a two-layer character model twice, on the CPU: with plain causal attention, and with a bias that it learns for
// each head and distance. Neither is told positions in another way, so what the bias is worth shows in the loss.
//   train docs/spec_language.md docs/architecture.md --svg curves.svg
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "examples/train/curves.h"
#include "examples/train/model.h"

namespace train {
namespace {

constexpr Shape kShape{.batch = 8, .length = 128, .heads = 2, .head_dim = 32};
constexpr std::size_t kDistances = 64;  // farther keys have the bias of the last one
constexpr int kBlocks = 2;
constexpr int kEvery = 10;  // steps a point of a curve
constexpr float kLearningRate = 3e-3f;

constexpr const char* kPlain = R"(
attention plain
head_dim 32
dtype f32
mask_mod = kv_idx <= q_idx
)";
constexpr const char* kBiased = R"(
attention learned_bias
head_dim 32
dtype f32
tensor bias : f32[num_q_heads, 64] grad
score_mod = score + bias[h, clamp(q_idx - kv_idx, 0, 63)]
mask_mod = kv_idx <= q_idx
)";

struct Options {
  std::vector<std::string> files;
  int steps = 1000;
  std::string svg;
  bool check = false;
};

/// A text as ids of its bytes, in chunks; every tenth is held out, so that it is like the rest.
class Corpus {
 public:
  explicit Corpus(const std::vector<std::string>& files) {
    ids_.fill(-1);
    for (const std::string& path : files) {
      std::ifstream file(path, std::ios::binary);
      std::ostringstream text;
      if (!(text << file.rdbuf())) throw std::runtime_error("cannot read " + path + ", or it is empty");
      for (const char c : text.str()) tokens_.push_back(id_of(c));
    }
    if (tokens_.size() < kEachHeldOut * kChunk)
      throw std::runtime_error("the text has " + std::to_string(tokens_.size()) + " bytes; give at least " +
                               std::to_string(kEachHeldOut * kChunk));
  }

  std::size_t size() const { return tokens_.size(); }
  std::size_t vocabulary() const { return static_cast<std::size_t>(known_); }

  Batch draw(std::mt19937& random, bool from_held_out) const {
    Batch batch;
    for (std::int64_t i = 0; i < kShape.batch; ++i) {
      const auto from = tokens_.begin() + static_cast<std::ptrdiff_t>(draw_start(random, from_held_out));
      batch.tokens.insert(batch.tokens.end(), from, from + kShape.length);
      batch.targets.insert(batch.targets.end(), from + 1, from + kShape.length + 1);
    }
    return batch;
  }

 private:
  static constexpr std::size_t kChunk = 1024, kEachHeldOut = 10;

  std::size_t draw_start(std::mt19937& random, bool from_held_out) const {
    std::uniform_int_distribution<std::size_t> any_chunk(0, tokens_.size() / kChunk - 1);
    std::size_t chunk = any_chunk(random);
    while ((chunk % kEachHeldOut == kEachHeldOut - 1) != from_held_out) chunk = any_chunk(random);
    std::uniform_int_distribution<std::size_t> inside(0,
                                                      kChunk - static_cast<std::size_t>(kShape.length) - 1);
    return chunk * kChunk + inside(random);
  }

  int id_of(char c) {
    int& id = ids_[static_cast<unsigned char>(c)];
    if (id < 0) id = known_++;
    return id;
  }

  std::array<int, 256> ids_{};
  int known_ = 0;
  std::vector<int> tokens_;
};

/// Runs `work` for both models, on a core each.
template <typename Work>
void for_both(std::array<Model, 2>& models, Work work) {
  std::thread other([&] { work(models[1], 1); });
  work(models[0], 0);
  other.join();
}

double held_out_loss(Model& model, const Corpus& corpus) {
  constexpr int kBatches = 20;
  std::mt19937 random(7);
  double loss = 0;
  for (int i = 0; i < kBatches; ++i) loss += model.loss(corpus.draw(random, true)) / kBatches;
  return loss;
}

void print_bias(const Floats& bias) {
  std::printf("\nthe learned bias of the first block, by head and distance:\n  distance");
  constexpr std::array kShown{0, 1, 2, 3, 4, 6, 8, 16, 32, 63};
  for (const int distance : kShown) std::printf(" %6d%s", distance, distance == 63 ? "+" : "");
  for (std::size_t h = 0; h < bias.size() / kDistances; ++h) {
    std::printf("\n  head %zu  ", h);
    for (const int distance : kShown)
      std::printf(" %6.2f", static_cast<double>(bias[h * kDistances + static_cast<std::size_t>(distance)]));
  }
  std::printf("\n");
}

/// Moves each parameter a little along its gradient, both ways: the loss must change by as much as the gradient says.
/// Returns how far the worst is from that, as a share.
double check_gradients(Model& model, const Batch& batch) {
  double worst = 0;
  model.learn(batch);
  for (Parameter* parameter : model.parameters()) {
    double square = 0;
    for (const float g : parameter->gradient) square += static_cast<double>(g) * g;
    if (square == 0) continue;
    const Floats kept = parameter->value;
    const double size = 0.01 / std::sqrt(square);  // a step of length 0.01
    const auto loss_at = [&](double along) {
      for (std::size_t i = 0; i < kept.size(); ++i)
        parameter->value[i] = kept[i] + static_cast<float>(along * parameter->gradient[i]);
      return model.loss(batch);
    };
    const double measured = (loss_at(size) - loss_at(-size)) / (2 * size * square);
    parameter->value = kept;
    worst = std::max(worst, std::abs(measured - 1));
  }
  return worst;
}

int run(const Options& options) {
  const Corpus corpus(options.files);
  std::array<Model, 2> models{Model(kPlain, kShape, 0, corpus.vocabulary(), kBlocks, 1),
                              Model(kBiased, kShape, kDistances, corpus.vocabulary(), kBlocks, 1)};
  std::mt19937 random(3);
  if (options.check) {
    const Batch batch = corpus.draw(random, false);
    bool good = true;
    for (Model& model : models) {
      const double error = check_gradients(model, batch);
      good &= error < 0.02;
      std::printf("gradients of all parameters: within %.2f%% of differences of the loss\n", 100 * error);
    }
    return good ? 0 : 1;
  }
  std::printf("%zu characters, %zu different; %d blocks, width %zu, %lld sequences of %lld\n\n",
              corpus.size(), corpus.vocabulary(), kBlocks, kShape.width(),
              static_cast<long long>(kShape.batch), static_cast<long long>(kShape.length));
  std::vector<Curve> curves{{"plain", {}}, {"learned bias", {}}};
  std::array<double, 2> sums{};
  std::printf("  step    plain  learned bias\n");
  for (int step = 1; step <= options.steps; ++step) {
    const Batch batch = corpus.draw(random, false);
    const float rate = kLearningRate * std::min(1.0f, static_cast<float>(step) / 50);
    for_both(models, [&](Model& model, std::size_t i) {
      sums[i] += model.learn(batch) / kEvery;
      model.step(step, rate);
    });
    if (step % kEvery != 0) continue;
    for (std::size_t i = 0; i < 2; ++i) curves[i].losses.push_back(sums[i]);
    if (step % (5 * kEvery) == 0) std::printf("%6d   %6.3f        %6.3f\n", step, sums[0], sums[1]);
    std::fflush(stdout);
    sums = {};
  }
  std::array<double, 2> held_out{};
  for_both(models, [&](Model& model, std::size_t i) { held_out[i] = held_out_loss(model, corpus); });
  std::printf("held out %6.3f        %6.3f\n\n%s", held_out[0], held_out[1],
              draw_characters(curves, kEvery).c_str());
  print_bias(models[1].captured());
  if (options.svg.empty()) return 0;
  std::ofstream file(options.svg);
  if (!(file << draw_svg(curves, kEvery) << std::flush))
    throw std::runtime_error("cannot write " + options.svg);
  return 0;
}

}  // namespace
}  // namespace train

int main(int argc, char** argv) try {
  train::Options options;
  CLI::App app("Trains a small character model with plain attention, and with a learned bias of distance");
  app.add_option("TEXT", options.files, "Text files to learn from")->required()->check(CLI::ExistingFile);
  app.add_option("--steps", options.steps, "Steps of training")
      ->check(CLI::Range(10, 1000000))
      ->capture_default_str();
  app.add_option("--svg", options.svg, "Write the loss curves here");
  app.add_flag("--check", options.check,
               "Compare the gradients with differences of the loss, and train nothing");
  CLI11_PARSE(app, argc, argv);
  return train::run(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "train: %s\n", error.what());
  return 2;
}
