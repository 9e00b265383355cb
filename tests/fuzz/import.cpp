// The importer: text of LLVM IR as a mask_mod or a score_mod, through to the CUDA source.
#include "compiler/ir/import/import.h"

#include <memory>

#include "compiler/compile.h"
#include "compiler/target/target.h"
#include "tests/fuzz/targets.h"
#include "tests/import/head.h"

namespace fa::fuzz {
namespace {

constexpr int kHookLine = 15;

void check_refusal(const SpecError& error) {
  require(error.diagnostics().size() == 1, "refused with several findings");
  const Diagnostic& finding = error.diagnostics()[0];
  require(finding.place.line == kHookLine, "a finding elsewhere");
  require(finding.message.starts_with("'fuzz.ll': ") && finding.message.size() > 11,
          "a finding without words");
  require(!finding.remedy.empty(), "a finding without a remedy");
}

void import_as(HookKind kind, std::string_view bytes) {
  static const Spec head = Spec::parse(tests::kImportHead, "fuzz.fa");
  CheckedSpec spec = head.checked();
  HookFile& file = kind == HookKind::score_mod ? spec.score_from : spec.mask_from;
  file = {
      .path = "fuzz.ll", .bytes = std::make_shared<const std::string>(bytes), .line = kHookLine, .column = 1};
  try {
    const Compiled compiled = compile_front_end(spec, find_target("a100"));
    require(!compiled.source->text.empty(), "a kernel without source");
  } catch (const SpecError& error) {
    check_refusal(error);
  }
}

}  // namespace

void fuzz_import(std::string_view bytes) {
  if (bytes.starts_with("BC") || bytes.starts_with("\xde\xc0\x17\x0b")) return;
  import_as(HookKind::mask_mod, bytes);
  if (bytes.find("@score_mod") != std::string_view::npos) import_as(HookKind::score_mod, bytes);
}

}  // namespace fa::fuzz
