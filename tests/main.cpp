#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif
#include "tests/skip.h"

int main(int argc, char** argv) {
  const int status = Catch::Session().run(argc, argv);
  return status == 0 && !fa::tests::every_case_asserted() ? 1 : status;
}
