#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif
#include <cstdlib>

#include "tests/skip.h"

int main(int argc, char** argv) {
  // The plans that ship change what the compiler takes for a GPU, and other tests ask what it chooses by itself: for them, and
  // the commands that they run, there are none (this folder has no table). Those of the tables say where theirs are.
  setenv("FA_SHIPPED_DIR", FA_SOURCE_DIR "/tests/runtime/tune", 0);
  const int status = Catch::Session().run(argc, argv);
  return status == 0 && !fa::tests::every_case_asserted() ? 1 : status;
}
