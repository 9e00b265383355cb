#include "tests/compiler/analysis/table_masks/tables.h"

#include <algorithm>

namespace fa::test {

Numbers Tables::runs(int rows, int length, int least, int most, const std::function<double(int)>& draw) {
  Numbers result;
  for (int row = 0; row < rows; ++row) {
    double value = 0;
    for (int i = 0, left = 0, run = 0; i < length; ++i, --left) {
      if (left == 0) left = between(least, most), value = draw(run++);
      result.push_back(value);
    }
  }
  return result;
}

Numbers Tables::times(int rows, int length) {
  Numbers result;
  for (int row = 0; row < rows; ++row) {
    double time = pick(1000);
    for (int i = 0; i < length; ++i) {
      time += pick(300) == 0 ? between(100, 2000) : 0.125 * pick(17);
      result.push_back(time);
    }
  }
  return result;
}

Numbers Tables::each(int count, const std::function<double(int)>& draw) {
  Numbers result;
  for (int i = 0; i < count; ++i) result.push_back(draw(i));
  return result;
}

Numbers Tables::cuts(int rows, int pieces, int length) {
  Numbers result;
  for (int row = 0; row < rows; ++row) {
    Numbers places = each(pieces - 1, [&](int) { return pick(length); });
    places.push_back(0);
    places.push_back(length);
    std::sort(places.begin(), places.end());
    result.insert(result.end(), places.begin(), places.end());
  }
  return result;
}

}  // namespace fa::test
