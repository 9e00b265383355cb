// What the compiler knows of a spec and decides for it, and which tiles its mask leaves: Explanation's numbers (facet/explain.py).
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compiler/compile.h"
#include "compiler/target/target.h"
#include "python/src/bind.h"
#include "python/src/view.h"
#include "tools/tiles/tile_map.h"
#include "tools/tiles/tiles.h"

namespace nb = nanobind;

namespace fa::python {
namespace {

nb::dict facts(const Spec& spec, const std::string& target, const std::string& plan) {
  nb::dict said;
  const nb::gil_scoped_release released;
  const Compiled compiled = compile_front_end(spec.checked(), find_target(target), plan);
  const nb::gil_scoped_acquire locked;
  said["facts"] = compiled.facts.print();
  said["plan"] = compiled.choice.plan.print();
  said["why"] = compiled.choice.why;
  said["tile_q"] = compiled.choice.plan.tile_q;
  said["tile_kv"] = compiled.choice.plan.tile_kv;
  nb::list clamped;
  for (const auto& read : compiled.facts.clamped)
    clamped.append(nb::make_tuple(read.tensor, read.dimension, read.line, read.column));
  said["clamped"] = clamped;
  return said;
}

/// Puts a tensor of the call in the place of the example that the problem has.
void replace(tools::HostTensor& tensor, const View& view) {
  if (view.dtype != tensor.dtype || view.shape != tensor.shape || !view.is_contiguous()) {
    throw ArgumentError("tensor '" + tensor.name + "' must be a contiguous " +
                        std::string(dtype_name(tensor.dtype)) + tools::print_shape(tensor.shape));
  }
  std::memcpy(tensor.bytes.data(), view.data, tensor.bytes.size());
}

/// The report as JSON, the picture as SVG, and as text.
nb::tuple tiles(const Spec& spec, int tile_q, int tile_kv, const std::vector<int>& size,
                const std::map<std::string, std::string>& params, const nb::dict& tensors) {
  std::map<std::string, const View*> given;
  for (const auto& [key, value] : tensors) given[nb::cast<std::string>(key)] = &nb::cast<const View&>(value);
  std::string json, svg, text;
  {
    const nb::gil_scoped_release released;
    tools::ProblemInputs inputs;
    inputs.size = {.batch = size.at(0),
                   .num_q_heads = size.at(1),
                   .num_kv_heads = size.at(2),
                   .q_len = size.at(3),
                   .kv_len = size.at(4)};
    inputs.params = params;
    tools::Problem problem = make_mask_problem(spec, inputs);
    for (tools::HostTensor& tensor : problem.tensors)
      if (const auto found = given.find(tensor.name); found != given.end()) replace(tensor, *found->second);
    const tools::TileReport report = report_tiles(problem, tile_q, tile_kv);
    json = tiles_json(report, spec.checked().file).dump();
    svg = tile_map_svg(report.grid, spec.name());
    text = tile_map_text(report.grid, 64, 32);
  }
  return nb::make_tuple(json, svg, text);
}

}  // namespace

void bind_explain(nb::module_& module) {
  module.def("explain_facts", &facts, nb::arg("spec"), nb::arg("target"), nb::arg("plan"));
  module.def("explain_tiles", &tiles, nb::arg("spec"), nb::arg("tile_q"), nb::arg("tile_kv"), nb::arg("size"),
             nb::arg("params"), nb::arg("tensors"));
}

}  // namespace fa::python
