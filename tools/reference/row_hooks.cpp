#include "tools/reference/row_hooks.h"

#include <algorithm>

namespace fa::tools {

RowHooks::RowHooks(const CheckedSpec& spec, const Environment& environment) : environment_(environment) {
  environment_.lane = Builtin::kv_idx;
  const bool fast = spec.dtype != DType::f32;
  if (spec.score_mod != nullptr) score_mod_.emplace(spec.score_mod, fast);
  if (spec.mask_mod != nullptr) mask_mod_.emplace(spec.mask_mod);
  if (spec.sink != nullptr) sink_.emplace(spec.sink, fast);
  if (!spec.score_from.path.empty()) score_file_.emplace(spec, HookKind::score_mod, hook_data(environment_));
  if (!spec.mask_from.path.empty()) mask_file_.emplace(spec, HookKind::mask_mod, hook_data(environment_));
}

void RowHooks::set_row(const RowId& row, double score_error) {
  environment_[Builtin::b] = row.b;
  environment_[Builtin::h] = row.h;
  environment_[Builtin::q_idx] = row.q_idx;
  environment_.score_error = score_error;
  doubt_.reset();
}

void RowHooks::apply(int first_kv, int lanes, double* scores, double* errors, bool* kept) {
  environment_[Builtin::kv_idx] = first_kv;
  environment_.score = scores;
  mask(first_kv, lanes, kept);
  std::fill_n(errors, lanes, 0.0);
  if (score_mod_) {
    std::ranges::copy(score_mod_->evaluate_f32(environment_, lanes), scores);
    std::ranges::copy(score_mod_->errors(), errors);
    for (int i = 0; i < lanes; ++i)
      if (kept[i]) note(score_mod_->doubt(i), first_kv + i);
  }
  if (score_file_)
    for (int i = 0; i < lanes; ++i) {
      scores[i] = evaluate(*score_file_, scores[i], first_kv + i);
      errors[i] = score_file_->error();
      if (kept[i]) note_file(*score_file_, first_kv + i);
    }
}

void RowHooks::mask(int first_kv, int lanes, bool* kept) {
  environment_[Builtin::kv_idx] = first_kv;
  if (mask_mod_) {
    std::ranges::transform(mask_mod_->evaluate_i32(environment_, lanes), kept, [](int x) { return x != 0; });
    for (int i = 0; i < lanes; ++i) note(mask_mod_->doubt(i), first_kv + i);
  } else if (mask_file_) {
    for (int i = 0; i < lanes; ++i) {
      kept[i] = evaluate(*mask_file_, 0, first_kv + i) != 0;
      note_file(*mask_file_, first_kv + i);
    }
  } else {
    std::fill_n(kept, lanes, true);
  }
}

std::pair<double, double> RowHooks::sink() {
  if (!sink_) return {-ReferenceRows::kInfinity, 0};
  environment_[Builtin::kv_idx] = 0;
  const double logit = sink_->evaluate_f32(environment_, 1)[0];
  note(sink_->doubt(0), 0);
  return {logit, sink_->errors()[0]};
}

void RowHooks::note(const std::optional<Doubt>& doubt, int kv_idx) {
  if (!doubt || doubt_) return;
  doubt_ = {.row = {environment_[Builtin::b], environment_[Builtin::h], environment_[Builtin::q_idx]},
            .kv_idx = kv_idx,
            .line = doubt->at == nullptr ? 0 : doubt->at->line,
            .column = doubt->at == nullptr ? 0 : doubt->at->column,
            .left = doubt->left,
            .right = doubt->right};
}

void RowHooks::note_file(const HookEvaluator& hook, int kv_idx) {
  if (doubt_ || (!hook.is_doubtful() && !hook.is_undefined())) return;
  note(Doubt{}, kv_idx);
  doubt_->is_undefined = hook.is_undefined();
}

double RowHooks::evaluate(HookEvaluator& hook, double score, int kv_idx) {
  return hook.evaluate(score, environment_.score_error, environment_[Builtin::b], environment_[Builtin::h],
                       environment_[Builtin::q_idx], kv_idx);
}

HookData hook_data(const Environment& environment) {
  HookData data{.builtins = environment.builtins, .params = environment.params, .shapes = {}, .read = {}};
  for (const HostTensor& tensor : environment.tensors) data.shapes.push_back(tensor.shape);
  data.read = [tensors = environment.tensors](int tensor, std::int64_t element) {
    return tensors[static_cast<std::size_t>(tensor)].get(element);
  };
  return data;
}

}  // namespace fa::tools
