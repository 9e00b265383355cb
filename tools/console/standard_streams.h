// stdin, stdout and stderr at both ends of main: the one place that sees to it that what the command says
// arrives, or that its exit status says otherwise.
#pragma once

namespace fa::tools {

/// First in main. A closed descriptor 0, 1 or 2 is taken, so that no file that is opened later gets its
/// number and what is printed; writing there fails. A closed pipe and the file size limit become errors of
/// writing, not signals.
void prepare_standard_streams();

/// Last in main: `status`, or kFailed where that is kOk and stdout or stderr did not take all that was
/// written. Says why on stderr, but not where a pipe's reader has left (`facet ... | head`): it knows.
int finish_standard_streams(int status);

}  // namespace fa::tools
