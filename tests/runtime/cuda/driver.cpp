// Where there is no driver, or another library in its place.
#include "runtime/cuda/driver.h"

#include "fa/error.h"
#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using namespace fa::tests;

TEST_CASE("a machine without the driver hears what is missing", "[runtime][launch]") {
  const std::string message = message_of<DeviceError>([] { load_driver("libno-such-driver.so.1"); });
  CHECK(message ==
        "no CUDA driver: libno-such-driver.so.1: cannot open shared object file: No such file or directory "
        "(looked for "
        "libno-such-driver.so.1 in FA_LIBCUDA, LD_LIBRARY_PATH and the system's folders); install NVIDIA's "
        "driver, or "
        "use the host (--device host)");
  // A library that is no driver.
  CHECK(message_of<DeviceError>([] {
          load_driver("libm.so.6");
        }).find("libm.so.6 has no cuInit: the driver is too old") != std::string::npos);
}
