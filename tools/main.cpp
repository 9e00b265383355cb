// The facet command. See tools/command/commands.h.
#include "tools/command/commands.h"
#include "tools/console/out_of_memory.h"
#include "tools/console/standard_streams.h"

namespace {

// Before the constructors of LLVM's own globals, which allocate: those have the priority 65535.
struct First {
  First() { fa::tools::end_when_out_of_memory(); }
};
[[gnu::init_priority(101)]] const First first;

}  // namespace

int main(int argc, char** argv) {
  fa::tools::prepare_standard_streams();
  return fa::tools::finish_standard_streams(fa::tools::run_facet(argc, argv));
}
