// The language: parse, check, print, round trip, and the extents a call would be checked against.
#include "compiler/spec/spec.h"

#include "compiler/spec/print.h"
#include "runtime/call/extent.h"
#include "tests/fuzz/targets.h"

namespace fa::fuzz {
namespace {

void check_findings(const SpecError& error, std::string_view bytes) {
  require(!error.diagnostics().empty(), "refused without a finding");
  for (const Diagnostic& finding : error.diagnostics()) {
    require(!finding.message.empty(), "a finding without words");
    require(finding.place.line >= 0 && finding.place.line <= static_cast<int>(bytes.size()) + 2,
            "a finding nowhere");
    require(!finding.render().empty(), "a finding that prints nothing");
  }
}

void evaluate_extents(const CheckedSpec& spec) {
  std::vector<Scalar> params;
  for (const ParamInfo& param : spec.params) params.push_back(param.default_value);
  for (const int length : {1, 1000, 1 << 24}) {
    const CallExtents size = {.batch = 2,
                              .num_q_heads = 8,
                              .num_kv_heads = 4,
                              .group_size = 2,
                              .q_len = length,
                              .kv_len = length,
                              .head_dim = spec.head_dim};
    for (const CheckedTensor& tensor : spec.tensors)
      for (const ExprPtr& extent : tensor.extents) evaluate_extent(*extent, size, params);
  }
}

/// Parses the text or refuses it properly; the canonical text gives the same spec.
void round_trip(const Spec& spec) {
  const std::string text = spec.text();
  try {
    const Spec again = Spec::parse(text);
    require(again.text() == text, "canonical text prints as another text:\n" + text + "---\n" + again.text());
    require(print_ast(again.checked()) == print_ast(spec.checked()),
            "canonical text means another spec:\n" + text);
  } catch (const SpecError& error) {
    throw std::logic_error("canonical text is refused: " + std::string(error.what()) + "\n" + text);
  }
}

}  // namespace

void fuzz_spec(std::string_view bytes) {
  try {
    const Spec spec = Spec::parse(bytes, "fuzz.fa");
    for (const Diagnostic& warning : spec.warnings()) require(!warning.render().empty(), "an empty warning");
    round_trip(spec);
    evaluate_extents(spec.checked());
    try {
      round_trip(spec.with_head_dim(64, 96));
      round_trip(spec.with_dtype(DType::f16));
    } catch (const SpecError& error) {  // a constant that only this head dim breaks
      check_findings(error, bytes);
    }
  } catch (const SpecError& error) {
    check_findings(error, bytes);
  }
}

}  // namespace fa::fuzz
