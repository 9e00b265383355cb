// What was thrown, as a message on stderr and an exit status.
#pragma once

namespace fa::tools {

/// In a catch block: reports the exception, with its remedy. Returns the status that the command ends with.
int report_current_exception();

}  // namespace fa::tools
