// Loss curves, in characters for the terminal and as SVG.
#pragma once

#include <string>
#include <vector>

namespace train {

struct Curve {
  std::string name;
  std::vector<double> losses;  // at `every`, 2 `every`, ... steps
};

/// `height` lines of at most 72 points, neighbours averaged: each point is its curve's number, or `*` where curves
/// meet. Axes in steps and nats.
std::string draw_characters(const std::vector<Curve>& curves, int every, int height = 14);

std::string draw_svg(const std::vector<Curve>& curves, int every);

}  // namespace train
