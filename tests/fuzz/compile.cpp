// The compiler: from the text of a spec to the CUDA source. Specs that the checker refuses are left to the
// target `spec`.
#include "compiler/compile.h"

#include "compiler/target/target.h"
#include "tests/fuzz/targets.h"

namespace fa::fuzz {
namespace {

void compile_for(const Spec& spec, const char* gpu) {
  try {
    const Compiled compiled = compile_front_end(spec.checked(), find_target(gpu));
    require(!compiled.source->text.empty(), "a kernel without source");
  } catch (const SpecError& error) {  // what no plan of the GPU can do
    require(!error.diagnostics().empty() && !error.diagnostics()[0].message.empty(), "refused without words");
  }
}

}  // namespace

void fuzz_compile(std::string_view bytes) {
  try {
    const Spec spec = Spec::parse(bytes, "fuzz.fa");
    compile_for(spec, "a100");
    if (spec.dtype() != DType::f32) compile_for(spec.with_dtype(DType::f32), "t4");
  } catch (const SpecError&) {
  }
}

}  // namespace fa::fuzz
