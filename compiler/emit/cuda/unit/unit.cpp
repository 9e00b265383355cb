#include "compiler/emit/cuda/unit/unit.h"

#include <fmt/format.h>

#include "compiler/emit/cuda/templates.h"
#include "compiler/schedule/product.h"
#include "compiler/schedule/shape.h"
#include "fa/error.h"

namespace fa {

namespace {

/// Whose a template file is: kernels of other kinds do not include it.
UnitKind kind_of(std::string_view path) {
  const auto names = [&](std::string_view word) { return path.find(word) != std::string_view::npos; };
  if (names("backward")) return UnitKind::backward;
  if (names("baseline") || names("standard") || names("flash1")) return UnitKind::baseline;
  return UnitKind::forward;
}

}  // namespace

std::vector<SourceHeader> headers_of(Family family, UnitKind kind) {
  const std::string_view base = traits_of(family).builds_on;
  std::vector<SourceHeader> headers;
  for (const EmbeddedTemplate& file : embedded_templates()) {
    const bool common = file.path.find('/') == std::string_view::npos || file.path.starts_with("common/");
    const bool own =
        file.path.starts_with(family_name(family)) || (!base.empty() && file.path.starts_with(base));
    const UnitKind of = kind_of(file.path);
    if ((common || own) && (of == kind || of == UnitKind::forward))
      headers.push_back({.path = std::string(file.path), .text = std::string(file.text)});
  }
  return headers;
}

std::string arch_of(Family family, const Target& target) {
  const std::string_view suffix = traits_of(family).arch_suffix;
  std::string arch(target.nvrtc_arch);
  return arch.ends_with(suffix) ? arch : arch + std::string(suffix);
}

std::string_view element_type(DType dtype, const Target& target) {
  switch (dtype) {
    case DType::f16:
      return "F16";
    case DType::bf16:
      return "Bf16";
    case DType::f32:
      return product_of(dtype, target) == Product::ffma ? "Ffma" : "Tf32x3";
    default:
      throw InternalError(fmt::format("no CUDA kernel takes dtype {}", dtype_name(dtype)));
  }
}

namespace {

/// How the warps of a CTA share its registers, where some only copy.
std::string print_registers(const Plan& plan, const Target& target) {
  if (traits_of(plan.family).copying_warps == 0) return {};
  return fmt::format(
      "  static constexpr int kMultiplyRegisters = {};\n  static constexpr int kCopyRegisters = {};\n",
      register_budget(plan, target), copy_registers(plan, target));
}

}  // namespace

std::string print_config(const CheckedSpec& spec, const Plan& plan, const Target& target) {
  return fmt::format(
      R"(struct Config {{
  using Element = {element};
  static constexpr int kHeadDim = {head_dim};
  static constexpr int kHeadDimV = {head_dim_v};
  static constexpr int kTileQ = {tile_q};
  static constexpr int kTileKv = {tile_kv};
  static constexpr int kWarps = {warps};
  static constexpr int kStages = {stages};
  static constexpr bool kQInRegisters = {q_in_registers};
  static constexpr bool kSearchFirst = {search_first};
  static constexpr bool kDropout = {dropout};
{registers}}};
)",
      fmt::arg("element", element_type(spec.dtype, target)), fmt::arg("head_dim", spec.head_dim),
      fmt::arg("head_dim_v", spec.head_dim_v), fmt::arg("tile_q", plan.tile_q),
      fmt::arg("tile_kv", plan.tile_kv), fmt::arg("warps", plan.warps), fmt::arg("stages", plan.stages),
      fmt::arg("q_in_registers", plan.q_in_registers), fmt::arg("search_first", plan.search_first),
      fmt::arg("dropout", spec.has_dropout), fmt::arg("registers", print_registers(plan, target)));
}

void add_modules(const HookCases* cases, std::vector<IrModule>& modules) {
  if (cases == nullptr) return;
  modules.push_back(cases->condition.module);
  for (const HooksOfCase* of : {&cases->holds, &cases->fails})
    modules.insert(modules.end(), {of->hooks.module, of->facts.logits.module});
}

}  // namespace fa
