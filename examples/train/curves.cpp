#include "examples/train/curves.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace train {
namespace {

struct Range {
  double lowest, highest;
};

Range range_of(const std::vector<Curve>& curves) {
  Range range{curves.front().losses.front(), curves.front().losses.front()};
  for (const Curve& curve : curves)
    for (const double loss : curve.losses) {
      range.lowest = std::min(range.lowest, loss);
      range.highest = std::max(range.highest, loss);
    }
  if (range.highest <= range.lowest) range.highest = range.lowest + 1;
  return range;
}

/// The curves with the mean of each `count` points in their place; what is left over at the end is dropped.
std::vector<Curve> join(const std::vector<Curve>& curves, std::size_t count) {
  std::vector<Curve> result;
  for (const Curve& curve : curves) {
    result.push_back({curve.name, {}});
    for (std::size_t i = 0; i + count <= curve.losses.size(); i += count) {
      double sum = 0;
      for (std::size_t j = i; j < i + count; ++j) sum += curve.losses[j];
      result.back().losses.push_back(sum / static_cast<double>(count));
    }
  }
  return result;
}

std::string number(double x, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

}  // namespace

std::string draw_characters(const std::vector<Curve>& all, int every, int height) {
  constexpr std::size_t kMostColumns = 72;
  const std::size_t joined = (all.front().losses.size() + kMostColumns - 1) / kMostColumns;
  const std::vector<Curve> curves = join(all, joined);
  every *= static_cast<int>(joined);
  const Range range = range_of(curves);
  const std::size_t points = curves.front().losses.size();
  std::vector<std::string> lines(static_cast<std::size_t>(height), std::string(points, ' '));
  for (std::size_t c = 0; c < curves.size(); ++c)
    for (std::size_t i = 0; i < curves[c].losses.size(); ++i) {
      const double down =
          (range.highest - curves[c].losses[i]) / (range.highest - range.lowest) * (height - 1);
      char& at = lines[static_cast<std::size_t>(std::lround(down))][i];
      at = at == ' ' ? static_cast<char>('1' + c) : '*';
    }
  std::string text;
  for (int i = 0; i < height; ++i) {
    const double loss = range.highest - (range.highest - range.lowest) * i / (height - 1);
    text += "  " + (i % 4 == 0 || i == height - 1 ? number(loss, 2) : std::string(4, ' ')) + " |" +
            lines[static_cast<std::size_t>(i)] + "\n";
  }
  text += "       +" + std::string(points, '-') + "\n        " + std::to_string(every) + " to " +
          std::to_string(static_cast<int>(points) * every) + " steps; loss in nats a character\n";
  for (std::size_t c = 0; c < curves.size(); ++c)
    text += "        " + std::to_string(c + 1) + " " + curves[c].name + "\n";
  return text;
}

std::string draw_svg(const std::vector<Curve>& curves, int every) {
  constexpr double kWidth = 640, kHeight = 360, kLeft = 56, kRight = 24, kTop = 16, kBottom = 44;
  constexpr const char* kColours[] = {"#b05030", "#2060a0", "#308050", "#805090"};
  const Range range = range_of(curves);
  const auto points = static_cast<double>(curves.front().losses.size());
  const auto x_of = [&](double i) { return kLeft + (kWidth - kLeft - kRight) * (i + 1) / points; };
  const auto y_of = [&](double loss) {
    return kTop + (kHeight - kTop - kBottom) * (range.highest - loss) / (range.highest - range.lowest);
  };
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 360\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"640\" height=\"360\" fill=\"white\"/>\n";
  for (int i = 0; i <= 4; ++i) {
    const double loss = range.lowest + (range.highest - range.lowest) * i / 4;
    const std::string y = number(y_of(loss), 1);
    svg += "<line x1=\"56\" x2=\"616\" y1=\"" + y + "\" y2=\"" + y +
           "\" stroke=\"#ddd\"/>\n<text x=\"48\" y=\"" + y + "\" text-anchor=\"end\" dy=\"4\">" +
           number(loss, 2) + "</text>\n";
    const double step = points * i / 4;
    svg += "<text x=\"" + number(x_of(step - 1), 1) + "\" y=\"332\" text-anchor=\"middle\">" +
           std::to_string(static_cast<int>(std::lround(step * every))) + "</text>\n";
  }
  svg += "<text x=\"340\" y=\"352\" text-anchor=\"middle\">steps; loss in nats a character</text>\n";
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const std::string colour = kColours[c % std::size(kColours)];
    svg += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"" + colour + "\" points=\"";
    for (std::size_t i = 0; i < curves[c].losses.size(); ++i)
      svg += number(x_of(static_cast<double>(i)), 1) + "," + number(y_of(curves[c].losses[i]), 1) + " ";
    svg += "\"/>\n<text x=\"604\" text-anchor=\"end\" y=\"" + std::to_string(32 + 18 * c) + "\" fill=\"" +
           colour + "\">" + curves[c].name + "</text>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace train
