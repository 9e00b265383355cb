// The facet command. See tools/commands.h.
#include "tools/commands.h"

int main(int argc, char** argv) { return fa::tools::run_facet(argc, argv); }
