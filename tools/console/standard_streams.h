// stdin, stdout and stderr at the beginning and the end of main: makes sure that the output arrives, or else
// that the exit status is an error.
#pragma once

namespace fa::tools {

/// Called first in main. Occupies closed descriptors 0, 1 and 2, so that no file that is opened later gets
/// such a number and the output with it; writing there still fails. Makes a closed pipe and the file size
/// limit errors of writing, not signals.
void prepare_standard_streams();

/// Flushes stdout, and remembers why it failed where it did.
void flush_stdout();
/// Remembers an errno of writing to stdout: the first one is told at the end.
void note_stdout_error(int error);

/// Called last in main. Returns `status`, or kFailed where that is kOk and stdout or stderr did not take
/// everything that was written. Reports why on stderr, unless a pipe's reader has left (`facet ... | head`),
/// which is usual.
int finish_standard_streams(int status);

}  // namespace fa::tools
