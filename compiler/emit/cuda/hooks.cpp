// The text of `struct Hooks`.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/analysis/code_size.h"
#include "compiler/emit/cuda/addend_product.h"
#include "compiler/emit/cuda/expr.h"
#include "compiler/emit/cuda/hook_stages.h"
#include "compiler/emit/cuda/hooks.h"
#include "compiler/emit/cuda/staging.h"
#include "compiler/emit/cuda/strategy.h"
#include "fa/error.h"

namespace fa {
namespace {

struct StageText {
  std::string_view variable;    // "row"
  std::string_view type;        // "Row"
  std::string_view first;       // the members every such struct has
  std::string_view parameters;  // after p
};

constexpr StageText kStages[] = {
    {"head", "Head", "int b;\n    int h;\n", "int b, int h"},
    {"row", "Row", "int q_idx;\n    float q_idx_f;\n", "const Head& head, int q_idx, float q_idx_f"},
    {"column", "Column", "int kv_idx;\n    float kv_idx_f;\n",
     "const Head& head, int kv_idx, float kv_idx_f"},
};
constexpr std::string_view kGiven[][2] = {{"b", "h"}, {"q_idx", "q_idx_f"}, {"kv_idx", "kv_idx_f"}};
constexpr std::string_view kElementParameters =
    "const CallParams& p, const Head& head, const Row& row, const Column& column";

const StageText& text_of(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }

class HooksPrinter {
 public:
  HooksPrinter(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts, const StagingRoom& room,
               bool has_score_class, const ScoreDerivative* derivative)
      : spec_(spec),
        hooks_(hooks),
        facts_(facts),
        room_(room),
        has_score_class_(has_score_class),
        derivative_(derivative),
        split_(hooks.args) {}

  PrintedHooks print();

 private:
  std::string print_argument(const HookArg& arg, Stage at) const;
  std::string outside(const llvm::Value& value, Stage at) const;
  ExprPrinter printer(Stage at, std::unordered_set<std::string> taken);
  std::string print_body(const StageBody& body, const llvm::Value& result);
  void name_fields(Stage stage);
  std::string print_struct(Stage stage) const;
  std::string print_row_addend(const llvm::Function& function);
  StageBody add_mask(StageSplit& split, const llvm::Function& mask) const;
  std::string print_listed(const StageBody& keep);
  std::string print_by_distance(const llvm::Function& function, std::string_view name);
  std::string print_stage_function(Stage stage);
  std::string print_function(std::string_view head, const std::string& body) const;
  std::string print_element(std::string_view signature, const llvm::Function& function,
                            const StageBody& body);

  const CheckedSpec& spec_;
  const HookIr& hooks_;
  const Facts& facts_;
  const StagingRoom& room_;
  const bool has_score_class_;
  const ScoreDerivative* const derivative_;  // null: not asked for
  StageSplit split_;
  Staging staging_;
  std::unordered_map<const llvm::Value*, std::string> fields_;  // "row.slope"
  std::string functions_;                                       // that stand before the struct
};

std::string HooksPrinter::print_argument(const HookArg& arg, Stage at) const {
  const auto from = [&](Stage stage, const char* name) {
    return at == stage ? std::string(name) : fmt::format("{}.{}", text_of(stage).variable, name);
  };
  switch (arg.kind) {
    case HookArgKind::score:
      return "s";
    case HookArgKind::b:
      return from(Stage::head, "b");
    case HookArgKind::h:
      return from(Stage::head, "h");
    case HookArgKind::q_idx:
      return from(Stage::row, "q_idx");
    case HookArgKind::kv_idx:
      return from(Stage::column, "kv_idx");
    default:
      return print_uniform(arg, from(Stage::head, "b"));
  }
}

std::string HooksPrinter::outside(const llvm::Value& value, Stage at) const {
  if (const int index = split_.argument_index(value); index >= 0)
    return print_argument(hooks_.args[static_cast<std::size_t>(index)], at);
  if (split_.is_scale_log2(value)) return "p.scale_log2";
  if (&value == staging_.element) return "staged_value(row, column)";
  if (const llvm::Argument* index = split_.index_as_float(value))
    return print_argument(hooks_.args[index->getArgNo()], at) + "_f";
  if (const auto field = fields_.find(&value); field != fields_.end()) {
    const bool is_own =
        at != Stage::element && field->second.starts_with(std::string(text_of(at).variable) + ".");
    if (!is_own) return field->second;
  }
  return {};
}

ExprPrinter HooksPrinter::printer(Stage at, std::unordered_set<std::string> taken) {
  return ExprPrinter(
      {.fast_math = spec_.dtype != DType::f32,
       .fast_division = at == Stage::element,
       .eager_bools = at == Stage::element,
       .indent = 4},
      [this, at](const llvm::Value& value) { return outside(value, at); },
      [this](const llvm::Value& value) { return split_.canonical(value); }, std::move(taken));
}

void HooksPrinter::name_fields(Stage stage) {
  std::unordered_set<std::string> taken;
  for (std::string_view name : kGiven[static_cast<std::size_t>(stage)]) taken.insert(std::string(name));
  for (const llvm::Value* value : split_.stage(stage).fields)
    fields_[value] =
        fmt::format("{}.{}", text_of(stage).variable, unique_name(suggested_name(*value), taken));
}

std::string HooksPrinter::print_struct(Stage stage) const {
  const StageText& text = text_of(stage);
  std::string members;
  for (const llvm::Value* value : split_.stage(stage).fields)
    members +=
        fmt::format("    {} {};\n", cpp_type(*value), fields_.at(value).substr(text.variable.size() + 1));
  if (stage == Stage::column && staging_.element != nullptr) members += "    StagedElement staged{};\n";
  return fmt::format("  struct {} {{\n    {}{}  }};\n", text.type, text.first, members);
}

std::string HooksPrinter::print_function(std::string_view head, const std::string& body) const {
  return fmt::format("  static __device__ __forceinline__ {} {{\n{}  }}\n", head, body);
}

std::string HooksPrinter::print_stage_function(Stage stage) {
  const StageText& text = text_of(stage);
  const StageBody& body = split_.stage(stage);
  const auto& given = kGiven[static_cast<std::size_t>(stage)];
  ExprPrinter writer = printer(stage, {std::string(given[0]), std::string(given[1])});
  writer.write(body.items, body.fields);
  std::string values = fmt::format("{}, {}", given[0], given[1]);
  for (const llvm::Value* value : body.fields) values += ", " + writer.value(*value);
  return print_function(
      fmt::format("{} {}(const CallParams& p, {})", text.type, text.variable, text.parameters),
      fmt::format("{}    return {{{}}};\n", writer.statements(), values));
}

std::string HooksPrinter::print_body(const StageBody& body, const llvm::Value& result) {
  ExprPrinter writer = printer(Stage::element, {});
  writer.write(body.items, {&result});
  const std::string value = writer.value(result);
  return fmt::format("{}    return {};\n", writer.statements(), value);
}

std::string HooksPrinter::print_element(std::string_view signature, const llvm::Function& function,
                                        const StageBody& body) {
  return print_function(signature, print_body(body, *split_.result(function)));
}

// The whole function at (q_idx, 0), needing no other stage: what a row decides alone.
std::string HooksPrinter::print_row_addend(const llvm::Function& function) {
  functions_ += fa::print_function(function, "row_addend_of",
                                   {.fast_math = spec_.dtype != DType::f32, .fast_division = true});
  functions_ += "\n";
  return print_function("float row_addend(const CallParams& p, const Head& head, int q_idx)",
                        fmt::format("    return row_addend_of(0.0f, head.b, head.h, q_idx, 0{});\n",
                                    print_uniforms(hooks_.args, "head.b")));
}

// What elements ask of the mask: where its rows list keys, both functions that stand in its place.
StageBody HooksPrinter::add_mask(StageSplit& split, const llvm::Function& mask) const {
  const ListedKeys& listed = facts_.listed_keys;
  if (listed.words == nullptr) return split.add(mask);
  StageBody keep = split.add(*listed.if_listed);
  const StageBody if_not = split.add(*listed.if_not);
  for (const Region::Item* item : if_not.items)
    if (keep.present.insert(item).second) keep.items.push_back(item);
  return keep;
}

std::string HooksPrinter::print_listed(const StageBody& keep) {
  const ListedKeys& listed = facts_.listed_keys;
  functions_ += fa::print_function(*listed.words, "listed_keys_of", {});
  functions_ += "\n";
  std::string text =
      print_function("unsigned listed_keys(const CallParams& p, const Head& head, int q_idx, int first)",
                     fmt::format("    return listed_keys_of(0.0f, head.b, head.h, q_idx, first{});\n",
                                 print_uniforms(hooks_.args, "head.b")));
  const llvm::Value& if_listed = *split_.result(*listed.if_listed);
  const llvm::Value& if_not = *split_.result(*listed.if_not);
  ExprPrinter writer = printer(Stage::element, {"is_listed"});
  writer.write(keep.items, {&if_listed, &if_not});
  const std::string value =
      fmt::format("is_listed ? {} : {}", writer.value(if_listed, true), writer.value(if_not, true));
  text += "\n" + print_function(fmt::format("bool mask({}, bool is_listed)", kElementParameters),
                                fmt::format("{}    return {};\n", writer.statements(), value));
  text +=
      "\n" + print_function(
                 fmt::format("bool mask({})", kElementParameters),
                 "    const bool is_listed = (listed_keys(p, head, row.q_idx, column.kv_idx) & 1u) != 0;\n"
                 "    return mask(p, head, row, column, is_listed);\n");
  return text;
}

// The function at (distance, 0), which the distance and the head decide. Its values of the head are those of `split_`, which
// has the function, too: they are found once a head, not once a distance.
std::string HooksPrinter::print_by_distance(const llvm::Function& function, std::string_view name) {
  StageSplit split(hooks_.args, StagesOf::heads);
  const StageBody body = split.add(function);
  const auto at_distance = [&](const llvm::Value& value) -> std::string {
    if (const int index = split.argument_index(value); index >= 0) {
      const HookArg& arg = hooks_.args[static_cast<std::size_t>(index)];
      if (arg.kind == HookArgKind::score) return "0.0f";
      if (arg.kind == HookArgKind::q_idx) return "distance";
      if (arg.kind == HookArgKind::kv_idx) return "0";
      return print_argument(arg, Stage::element);
    }
    if (split.is_scale_log2(value)) return "p.scale_log2";
    if (const llvm::Argument* index = split.index_as_float(value))
      return is_hook_argument(*index, HookArgKind::q_idx) ? "static_cast<float>(distance)" : "0.0f";
    const auto field = fields_.find(split_.canonical(value));
    return field != fields_.end() && field->second.starts_with("head.") ? field->second : std::string();
  };
  ExprPrinter writer({.fast_math = spec_.dtype != DType::f32, .fast_division = true, .indent = 4},
                     at_distance, [&](const llvm::Value& value) { return split.canonical(value); },
                     {"p", "head", "distance"});
  const llvm::Value& result = *split.result(function);
  writer.write(body.items, {&result});
  const std::string value = writer.value(result);
  return print_function(
      fmt::format("{} {}(const CallParams& p, const Head& head, int distance)", cpp_type(result), name),
      fmt::format("{}    return {};\n", writer.statements(), value));
}

PrintedHooks HooksPrinter::print() {
  const bool has_mask = facts_.has_mask && !facts_.mask_is_always_true;
  const bool is_general = facts_.score_form == ScoreForm::general;
  // A row's terms alone leave the score as it is.
  const bool is_affine =
      facts_.score_form == ScoreForm::affine && !(facts_.addend_is_zero && facts_.multiplier_is_one);
  const llvm::Function* mask = has_mask ? hooks_.mask_mod : nullptr;

  StageBody logit, multiplier, addend, slope, keep, derivative;
  if (is_general) logit = split_.add(*facts_.logits.general);
  if (is_affine) multiplier = split_.add(*facts_.logits.multiplier);
  if (is_affine) addend = split_.add(*facts_.logits.addend);
  const bool fast = spec_.dtype != DType::f32;
  const bool addend_by_diagonal = is_affine && facts_.addend_is_by_diagonal;
  AddendProduct product;
  if (is_affine && facts_.multiplier_is_one && can_divide_by(spec_.scale) && !addend_by_diagonal &&
      !facts_.addend_is_linear && !has_score_class_)
    product = product_of(*split_.result(*facts_.logits.addend), addend);
  const bool asks_elements =
      room_.bytes > 0 && (is_general || is_affine) && !addend_by_diagonal && !facts_.addend_is_linear;
  if (asks_elements) staging_ = stage_elements(split_, {&logit, &multiplier, &addend}, room_);
  const bool stages_columns = asks_elements && is_column_worth_staging(split_, fast);
  if (facts_.addend_is_linear) slope = split_.add(*facts_.logits.addend_slope);
  const bool lists_keys = mask != nullptr && facts_.listed_keys.words != nullptr;
  if (mask != nullptr) keep = add_mask(split_, *mask);
  const bool derives = derivative_ != nullptr && derivative_->function != nullptr;
  if (derives) derivative = split_.add(*derivative_->function);
  if (stages_columns) stage_columns(staging_, split_, room_);
  for (Stage stage : {Stage::head, Stage::row, Stage::column}) name_fields(stage);

  const std::string_view strategy = score_strategy({.is_general = is_general,
                                                    .is_affine = is_affine,
                                                    .is_linear = facts_.addend_is_linear,
                                                    .is_by_diagonal = addend_by_diagonal,
                                                    .is_product = product.term != nullptr,
                                                    .has_class = has_score_class_});
  // What is as in IdentityHooks is not written.
  const auto flag = [](std::string_view name, bool value, bool otherwise = false) {
    return value == otherwise ? std::string()
                              : fmt::format("  static constexpr bool {} = {};\n", name, value);
  };
  const auto size = [](std::string_view name, int value) {
    constexpr int kFew = 8;  // instructions that may stand anywhere
    return value <= kFew ? std::string() : fmt::format("  static constexpr int {} = {};\n", name, value);
  };
  std::string text = "struct Hooks : IdentityHooks {\n";
  if (strategy != "RawScores") text += fmt::format("  using Score = {};\n", strategy);
  text += flag("kHasMask", has_mask);
  const bool mask_by_diagonal = mask != nullptr && facts_.mask_is_by_diagonal;
  // Where only the mask asks, heads and rows are needed in partial tiles alone: many values that take few
  // operations are better found there than kept in the registers of every tile.
  // Of a linear addend tiles need the slope alone, which kernels keep.
  StageSplit of_mask(hooks_.args);
  if (facts_.addend_is_linear && mask != nullptr) add_mask(of_mask, *mask);
  const StageSplit& of_tiles = facts_.addend_is_linear ? of_mask : split_;
  const auto found_anew = [&](Stage at) {
    constexpr std::size_t kManyValues = 4;
    constexpr std::size_t kFewOperations = 16;
    const StageBody& stage = of_tiles.stage(at);
    const bool only_mask = (!is_general && !is_affine) || facts_.addend_is_linear;
    const bool saves = stage.fields.size() >= kManyValues && stage.items.size() <= kFewOperations;
    return stage.is_cheap() || (only_mask && saves && !stage.reads());
  };
  text += flag("kHeadIsCheap", found_anew(Stage::head), true);
  text += flag("kRowIsCheap", found_anew(Stage::row), true);
  const bool element_reads = logit.reads() || multiplier.reads() || (!addend_by_diagonal && addend.reads()) ||
                             (!mask_by_diagonal && keep.reads()) || derivative.reads();
  text += flag("kMaskIsHeavy", keep.is_heavy());
  text += flag("kListsKeys", lists_keys);
  text += flag("kHasRowAddend", facts_.has_row_addend);
  text += flag("kMaskIsRelative", mask_by_diagonal);
  text += flag("kRowReads", element_reads || split_.stage(Stage::row).reads());
  text += flag("kColumnReads", element_reads || split_.stage(Stage::column).reads());
  text += flag("kElementReads", element_reads);
  text += flag("kStagesColumns", !staging_.columns.empty());
  text += flag("kStagesElements", staging_.element != nullptr);
  if (staging_.buffers > 1)
    text += fmt::format("  static constexpr int kStagedBuffers = {};\n", staging_.buffers);
  text += flag("kStagedRowsAreEven", staging_.rows_are_even);
  const std::string_view staged_type = type_of_widened(staging_, split_, product.term);
  text += flag("kAddendTermIsElement", !staged_type.empty());
  if (!staged_type.empty()) text += fmt::format("  using StagedType = {};\n", staged_type);
  text += size("kScoreSize", logit.size(fast) + multiplier.size(fast) + addend.size(fast));
  text += size("kMaskSize", keep.size(fast));
  text += flag("kHasScoreDerivative", derivative_ != nullptr);
  text += size("kDerivativeSize", derivative.size(fast));
  text += size("kRowSize", split_.stage(Stage::row).size(fast));
  text += size("kColumnSize", split_.stage(Stage::column).size(fast));
  if (addend_by_diagonal) text += size("kRelativeAddendSize", code_size(*facts_.logits.addend, fast));
  if (facts_.has_row_addend) text += size("kRowAddendSize", code_size(*facts_.logits.row_addend, fast));
  if (mask_by_diagonal) text += size("kRelativeMaskSize", code_size(*mask, fast));
  for (Stage stage : {Stage::head, Stage::row, Stage::column}) {
    const bool is_staged = stage == Stage::column && staging_.element != nullptr;
    if (split_.stage(stage).fields.empty() && !is_staged) continue;
    if (stage == Stage::column) text += print_staged_types(staging_, fields_);
    text += "\n" + print_struct(stage);
    text += "\n" + print_stage_function(stage);
    if (stage == Stage::column) text += print_staged_functions(staging_, fields_);
  }
  if (is_general)
    text += "\n" + print_element(fmt::format("float logit(float s, {})", kElementParameters),
                                 *facts_.logits.general, logit);
  if (is_affine) {
    if (!facts_.multiplier_is_one)
      text += "\n" + print_element(fmt::format("float multiplier({})", kElementParameters),
                                   *facts_.logits.multiplier, multiplier);
    if (!facts_.addend_is_zero)
      text += "\n" + print_element(fmt::format("float addend({})", kElementParameters), *facts_.logits.addend,
                                   addend);
    if (product.term != nullptr) {
      text += "\n" + print_function(
                         "float addend_factor()",
                         fmt::format("    return {};\n", printer(Stage::element, {}).value(*product.factor)));
      text += "\n" + print_function(fmt::format("float addend_term({})", kElementParameters),
                                    print_body(addend, *product.term));
    }
    text += "\n" + print_function(fmt::format("float logit(float s, {})", kElementParameters),
                                  "    return fmaf(multiplier(p, head, row, column), s, "
                                  "addend(p, head, row, column));\n");
  }
  if (facts_.addend_is_linear)
    text += "\n" + print_element("float addend_slope(const CallParams& p, const Head& head)",
                                 *facts_.logits.addend_slope, slope);
  const std::string d_score = fmt::format("float d_score(float s, {})", kElementParameters);
  if (derives) text += "\n" + print_element(d_score, *derivative_->function, derivative);
  if (derivative_ != nullptr && !derives)
    text += "\n" +
            print_function(d_score, fmt::format("    return static_cast<float>({});\n", derivative_->number));
  if (lists_keys)
    text += "\n" + print_listed(keep);
  else if (mask != nullptr)
    text += "\n" + print_element(fmt::format("bool mask({})", kElementParameters), *mask, keep);
  if (facts_.has_row_addend) text += "\n" + print_row_addend(*facts_.logits.row_addend);
  if (addend_by_diagonal) text += "\n" + print_by_distance(*facts_.logits.addend, "relative_addend");
  if (mask_by_diagonal) text += "\n" + print_by_distance(*mask, "relative_mask");
  const PrintedSink sink = print_sink(hooks_.sink, hooks_.args, spec_.dtype);
  return {.text = functions_ + sink.functions + text + sink.members + "};\n", .staged_bytes = staging_.bytes};
}

}  // namespace

PrintedHooks print_hooks(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                         const StagingRoom& room, bool has_score_class, const ScoreDerivative* derivative) {
  return HooksPrinter(spec, hooks, facts, room, has_score_class, derivative).print();
}

}  // namespace fa
