#include "compiler/emit/cuda/source.h"

#include <fmt/format.h>

#include "compiler/emit/cuda/classes.h"
#include "compiler/emit/cuda/exact.h"
#include "compiler/emit/cuda/expr.h"
#include "compiler/emit/cuda/hooks.h"
#include "compiler/emit/cuda/passes/passes.h"
#include "compiler/emit/cuda/templates.h"
#include "compiler/schedule/product.h"
#include "compiler/schedule/shape.h"
#include "templates/common/dependent_launch.h"
#include "templates/params.h"

namespace fa {
namespace {

/// The hooks of both cases, each in a namespace of its own, and what asks which.
std::string print_cases(const CheckedSpec& spec, const HookIr& hooks, const HookCases& cases) {
  std::string text;
  for (const auto& [name, of] :
       {std::pair{"head_case_holds", &cases.holds}, {"head_case_fails", &cases.fails}})
    text += fmt::format("namespace {} {{\n\n{}}}  // namespace {}\n\n", name,
                        print_hooks(spec, of->hooks, of->facts).text, name);
  const PrintedSink sink = print_sink(hooks.sink, hooks.args, spec.dtype);
  text += print_function(*cases.condition.function, "head_case_of", {}) + sink.functions;
  text += fmt::format(R"(
struct Hooks : HooksByHead<head_case_holds::Hooks, head_case_fails::Hooks> {{
  static __device__ __forceinline__ bool head_case(const CallParams& p, int b, int h) {{
    return head_case_of(0.0f, b, h, 0, 0{});
  }}

  template <class H, class R, class C>
  static __device__ __forceinline__ float logit(float s, const CallParams& p, const H& head, const R& row, const C& column) {{
    return head_case(p, head.b, head.h)
               ? ElementOfCase<Holds>::logit(s, p, head.b, head.h, row.q_idx, column.kv_idx)
               : ElementOfCase<Fails>::logit(s, p, head.b, head.h, row.q_idx, column.kv_idx);
  }}

  template <class H, class R, class C>
  static __device__ __forceinline__ bool mask(const CallParams& p, const H& head, const R& row, const C& column) {{
    return head_case(p, head.b, head.h)
               ? ElementOfCase<Holds>::mask(p, head.b, head.h, row.q_idx, column.kv_idx)
               : ElementOfCase<Fails>::mask(p, head.b, head.h, row.q_idx, column.kv_idx);
  }}

  template <class H>
  static __device__ __forceinline__ float row_addend(const CallParams& p, const H& head, int q_idx) {{
    return head_case(p, head.b, head.h) ? ElementOfCase<Holds>::row_addend(p, head.b, head.h, q_idx)
                                        : ElementOfCase<Fails>::row_addend(p, head.b, head.h, q_idx);
  }}
{}}};
)",
                      print_uniforms(hooks.args, "b"), sink.members);
  return text;
}

/// In the order they run in.
std::vector<PrintedPass> print_passes(const TileClasses& classes, const ScoreClass& score_class,
                                      const Plan& plan, const Target& target, int shared_memory) {
  std::vector<PrintedPass> passes;
  if (classes.map) passes.push_back(print_tile_map_pass(classes, score_class, plan));
  const bool overlaps = !passes.empty() && target.compute_capability >= FA_OVERLAPS_FROM;
  passes.push_back(print_forward_pass(plan, shared_memory, overlaps));
  return passes;
}

std::vector<SourceHeader> headers_of(Family family) {
  std::vector<SourceHeader> headers;
  for (const EmbeddedTemplate& file : embedded_templates()) {
    const bool common = file.path == "params.h" || file.path.starts_with("common/");
    const std::string_view base = traits_of(family).builds_on;
    if (common || file.path.starts_with(family_name(family)) ||
        (!base.empty() && file.path.starts_with(base)))
      headers.push_back({.path = std::string(file.path), .text = std::string(file.text)});
  }
  return headers;
}

/// "sm_90a" for kernels whose instructions no other sm_90 need have.
std::string arch_of(Family family, const Target& target) {
  const std::string_view suffix = traits_of(family).arch_suffix;
  std::string arch(target.nvrtc_arch);
  return arch.ends_with(suffix) ? arch : arch + std::string(suffix);
}

/// How the warps of a CTA share its registers, where some only copy.
std::string print_registers(const Plan& plan, const Target& target) {
  if (traits_of(plan.family).copying_warps == 0) return {};
  return fmt::format(
      "  static constexpr int kMultiplyRegisters = {};\n  static constexpr int kCopyRegisters = {};\n",
      register_budget(plan, target), copy_registers(plan));
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

}  // namespace

Source emit_source(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                   const TileClasses& classes, const ScoreClass& score_class, const HookCases* cases,
                   const Plan& plan, const Target& target) {
  if (plan.family == Family::host) throw InternalError("the host has no CUDA template");
  const StagingRoom room = {.tile_q = plan.tile_q,
                            .tile_kv = plan.tile_kv,
                            .bytes = spare_shared_memory_bytes(plan, spec, target),
                            .has_async_copies = traits_of(plan.family).has_async_copies};
  const PrintedHooks printed = cases == nullptr
                                   ? print_hooks(spec, hooks, facts, room, score_class.function != nullptr)
                                   : PrintedHooks{.text = print_cases(spec, hooks, *cases)};
  const int shared_memory = shared_memory_bytes(plan, spec, printed.staged_bytes);
  Program program;
  std::string includes, entries;
  for (const PrintedPass& pass : print_passes(classes, score_class, plan, target, shared_memory)) {
    program.push_back(pass.pass);
    if (!pass.include.empty()) includes += fmt::format("#include \"{}\"\n", pass.include);
    entries += "\n" + pass.text;
  }
  std::vector<IrModule> modules = {hooks.module, facts.logits.module, classes.module, score_class.module};
  if (cases != nullptr) {
    modules.push_back(cases->condition.module);
    for (const HooksOfCase* of : {&cases->holds, &cases->fails})
      modules.insert(modules.end(), {of->hooks.module, of->facts.logits.module});
  }
  std::string text = fmt::format(
      R"(// Facet: attention "{name}", forward, {plan}
#include "{folder}/forward.cuh"
{includes}
namespace fa {{

{exact}{hooks}
{classes}
struct Config {{
  using Element = {element};
  static constexpr int kHeadDim = {head_dim};
  static constexpr int kHeadDimV = {head_dim_v};
  static constexpr int kTileQ = {tile_q};
  static constexpr int kTileKv = {tile_kv};
  static constexpr int kWarps = {warps};
  static constexpr int kStages = {stages};
  static constexpr bool kQInRegisters = {q_in_registers};
  static constexpr bool kDropout = {dropout};
{registers}}};

}}  // namespace fa
{entries}static_assert(sizeof(fa::ForwardParams) == {params_bytes});
)",
      fmt::arg("name", spec.name), fmt::arg("plan", plan.print()),
      fmt::arg("folder", family_name(plan.family)),
      fmt::arg("exact", print_exact_functions(modules, spec.dtype)), fmt::arg("hooks", printed.text),
      fmt::arg("classes", print_classes(hooks, classes, score_class, spec.dtype)),
      fmt::arg("includes", includes), fmt::arg("entries", entries),
      fmt::arg("element", element_type(spec.dtype, target)), fmt::arg("head_dim", spec.head_dim),
      fmt::arg("head_dim_v", spec.head_dim_v), fmt::arg("tile_q", plan.tile_q),
      fmt::arg("tile_kv", plan.tile_kv), fmt::arg("warps", plan.warps), fmt::arg("stages", plan.stages),
      fmt::arg("q_in_registers", plan.q_in_registers), fmt::arg("dropout", spec.has_dropout),
      fmt::arg("registers", print_registers(plan, target)), fmt::arg("params_bytes", sizeof(ForwardParams)));
  return Source{.text = std::move(text),
                .headers = headers_of(plan.family),
                .arch = arch_of(plan.family, target),
                .program = std::move(program)};
}

}  // namespace fa
