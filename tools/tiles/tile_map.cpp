#include "tools/tiles/tile_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/spec/rounding.h"

namespace fa::tools {

namespace {

constexpr int kMostCells = 512;  // of an SVG, on either side

struct Cells {
  int rows = 0, columns = 0;
  std::vector<TileClass> classes;  // partial where a cell's tiles differ
  TileClass at(int row, int column) const {
    return classes[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                   static_cast<std::size_t>(column)];
  }
};

Cells gather(const TileGrid& grid, int cell_rows, int cell_columns) {
  Cells cells{
      .rows = ceil_div(grid.rows, cell_rows), .columns = ceil_div(grid.columns, cell_columns), .classes = {}};
  for (int row = 0; row < cells.rows; ++row) {
    for (int column = 0; column < cells.columns; ++column) {
      TileClass common = grid.at(row * cell_rows, column * cell_columns);
      for (int i = row * cell_rows; i < std::min((row + 1) * cell_rows, grid.rows); ++i)
        for (int j = column * cell_columns; j < std::min((column + 1) * cell_columns, grid.columns); ++j)
          if (grid.at(i, j) != common) common = TileClass::partial;
      cells.classes.push_back(common);
    }
  }
  return cells;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

}  // namespace

std::pair<int, int> tile_map_cell(const TileGrid& grid, int width, int height) {
  return {ceil_div(grid.rows, height), ceil_div(grid.columns, width)};
}

std::string tile_map_text(const TileGrid& grid, int width, int height) {
  const auto [cell_rows, cell_columns] = tile_map_cell(grid, width, height);
  const Cells cells = gather(grid, cell_rows, cell_columns);
  std::string text;
  for (int row = 0; row < cells.rows; ++row) {
    for (int column = 0; column < cells.columns; ++column) {
      constexpr const char* kMarks[] = {"·", "▒", "█"};
      text += kMarks[static_cast<std::size_t>(cells.at(row, column))];
    }
    text += '\n';
  }
  return text;
}

std::string tile_map_svg(const TileGrid& grid, const std::string& title) {
  constexpr const char* kColours[] = {"#f4f4f2", "#f0a63c", "#2f6690"};
  constexpr const char* kNames[] = {"empty", "partial", "full"};
  constexpr double kSide = 640;  // of the longer axis
  constexpr double kLeft = 56, kTop = 56;
  const int cell_rows = ceil_div(grid.rows, kMostCells);
  const int cell_columns = ceil_div(grid.columns, kMostCells);
  const Cells cells = gather(grid, cell_rows, cell_columns);
  // The scales of the axes are equal: one index is as long on either axis.
  const double unit = kSide / std::max(grid.q_len, grid.kv_len);
  const double width = std::max(unit * grid.kv_len, 8.0);
  const double height = std::max(unit * grid.q_len, 8.0);
  const double cell_width = width * cell_columns * grid.tile_kv / grid.kv_len;
  const double cell_height = height * cell_rows * grid.tile_q / grid.q_len;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kLeft + std::max(width, 420.0) + 16, kTop + height + 48);
  svg += fmt::format("<text x=\"{:.0f}\" y=\"24\" font-size=\"16\">{}</text>\n", kLeft, escaped(title));
  svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">kv_idx: {} tiles of {}</text>\n", kLeft, kTop - 10,
                     grid.columns, grid.tile_kv);
  svg += fmt::format("<text transform=\"translate({:.0f} {:.0f}) rotate(90)\">q_idx: {} tiles of {}</text>\n",
                     kLeft - 20, kTop, grid.rows, grid.tile_q);
  svg +=
      fmt::format("<g transform=\"translate({:.0f} {:.0f})\" shape-rendering=\"crispEdges\">\n", kLeft, kTop);
  svg += fmt::format("<rect width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"#bbbbbb\"/>\n", width,
                     height, kColours[0]);
  for (int row = 0; row < cells.rows; ++row) {
    for (int column = 0; column < cells.columns;) {  // one rectangle a run of one class
      const TileClass tile_class = cells.at(row, column);
      int end = column + 1;
      while (end < cells.columns && cells.at(row, end) == tile_class) ++end;
      if (tile_class != TileClass::empty) {
        const double right = std::min(end * cell_width, width);
        const double bottom = std::min((row + 1) * cell_height, height);
        svg +=
            fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n",
                        column * cell_width, row * cell_height, right - column * cell_width,
                        bottom - row * cell_height, kColours[static_cast<std::size_t>(tile_class)]);
      }
      column = end;
    }
  }
  svg += "</g>\n";
  const bool in_blocks = cell_rows > 1 || cell_columns > 1;
  double x = kLeft;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name = i == 1 && in_blocks ? "partial or mixed" : kNames[i];
    svg += fmt::format(
        "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"14\" height=\"14\" fill=\"{2}\" stroke=\"#bbbbbb\"/>"
        "<text x=\"{3:.0f}\" y=\"{4:.0f}\">{5}</text>\n",
        x, kTop + height + 16, kColours[i], x + 20, kTop + height + 28, name);
    x += 110;
  }
  return svg + "</svg>\n";
}

}  // namespace fa::tools
