// The facet command. See tools/commands.h.
#include "tools/commands.h"
#include "tools/standard_streams.h"

int main(int argc, char** argv) {
  fa::tools::prepare_standard_streams();
  return fa::tools::finish_standard_streams(fa::tools::run_facet(argc, argv));
}
