// What was thrown, as a message on stderr and an exit status.
#include "tools/command/failure.h"

#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "fa/bundle.h"
#include "tools/command/commands.h"
#include "tools/console/interrupt.h"
#include "tools/console/out_of_memory.h"
#include "tools/console/report.h"
#include "tools/console/standard_streams.h"

namespace fa::tools {

int report_current_exception() {
  try {
    throw;
  } catch (const Interrupted&) {
    report_error("interrupted: nothing is written");
    return kInterrupted;
  } catch (const SpecError& error) {
    for (const auto& diagnostic : error.diagnostics()) report_diagnostic(diagnostic);
    return kBadInput;
  } catch (const ArgumentError& error) {
    report_error(error.what());
    return kBadInput;
  } catch (const BundleError& error) {
    report_error(error.what());
    return kBadInput;
  } catch (const BuildError& error) {
    report_error(error.what(), error.log());
    return kFailed;
  } catch (const InternalError& error) {
    report_error(error.what(), "this is a bug in facet: please report it with this message and the spec");
    return kFailed;
  } catch (const std::bad_alloc&) {
    report_error("out of memory", memory_remedy());
    return kFailed;
  } catch (const std::exception& error) {
    const auto* const system = dynamic_cast<const std::system_error*>(&error);
    if (std::ferror(stdout) != 0) {  // printing failed: said once, at the end of main
      if (system != nullptr) note_stdout_error(system->code().value());
      return kFailed;
    }
    if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
      report_error("a thread cannot be started: " + system->code().message(),
                   "allow more processes (ulimit -u) or memory (ulimit -v), or take fewer --threads");
      return kFailed;
    }
    report_error(error.what());
    return kFailed;
  }
}

}  // namespace fa::tools
