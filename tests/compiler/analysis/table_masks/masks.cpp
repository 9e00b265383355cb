#include "tests/compiler/analysis/table_masks/masks.h"

#include <span>
#include <stdexcept>

namespace fa::test {

tools::Problem problem_of(const TableMask& mask, const ProblemSize& size, std::mt19937& random) {
  const std::string text = std::string("attention probe\nhead_dim 16\ndtype f32\n") + mask.text + "\n";
  tools::Problem problem{
      .spec = Spec::parse(text), .size = size, .q = {}, .k = {}, .v = {}, .tensors = {}, .params = {}};
  Tables tables(random, size);
  const Drawn drawn = mask.draw(tables);
  const std::span<const TensorInfo> tensors = problem.spec.tensors();
  if (drawn.size() != tensors.size()) throw std::logic_error(text + "has other tensors than are drawn");
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto count = static_cast<std::int64_t>(drawn[i].size());
    tools::HostTensor tensor(tensors[i].name, tensors[i].dtype, {count});
    for (std::int64_t at = 0; at < count; ++at) tensor.set(at, drawn[i][static_cast<std::size_t>(at)]);
    problem.tensors.push_back(std::move(tensor));
  }
  return problem;
}

const std::vector<TableMaskKind>& table_masks() {
  static const std::vector<TableMaskKind> kinds = {masks_of_times(),         masks_of_ids(),
                                                   masks_of_intervals(),     masks_of_distances(),
                                                   masks_of_routed_blocks(), masks_of_small_tables()};
  return kinds;
}

}  // namespace fa::test
