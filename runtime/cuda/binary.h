// A built kernel and what launching it takes: what NVRTC's end hands to the driver's, at once or through a
// bundle.
#pragma once

#include <string>

#include "compiler/program/pass.h"

namespace fa {

/// A kernel's code, the functions of all its passes.
struct Binary {
  std::string image;  // a cubin; or PTX where NVRTC is older than the device, which the driver then compiles
  Program program;
  int registers = 0;    // of the pass that takes the most; 0 of PTX
  int spill_bytes = 0;  // of all passes together
};

}  // namespace fa
