// The base class of Catch2's listeners, under either version. Only for files that compile alone: Catch2 version 2 declares
// it where its header's first inclusion finds the macro.
#pragma once

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include "tests/catch.h"

namespace fa::tests {

#if __has_include(<catch2/catch_all.hpp>)
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

}  // namespace fa::tests
