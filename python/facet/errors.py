"""What goes wrong in Facet, as exceptions. They have the names of the C++ errors (include/fa/error.h)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List


@dataclass(frozen=True)
class Diagnostic:
    """One finding about a spec."""

    file: str
    line: int  #: from 1; 0 means the whole file
    column: int  #: from 1
    message: str
    remedy: str  #: what to write instead; may be empty
    source_line: str  #: the text of the line
    length: int  #: columns to underline
    severity: str  #: "error" or "warning"
    text: str  #: all of it, as the command ``facet`` prints it


class Error(Exception):
    """Base of everything that Facet raises."""


class SpecError(Error, ValueError):
    """The spec is wrong, or the target cannot run it. ``diagnostics`` has every finding, in order of place."""

    diagnostics: List[Diagnostic] = []


class ArgumentError(Error, ValueError):
    """A call does not fit the kernel: an array's shape, type or strides, an unknown or missing name."""


class BuildError(Error, RuntimeError):
    """NVRTC or LLVM refused the generated code; ``log`` is the compiler's."""

    log: str = ""


class BundleError(Error, RuntimeError):
    """A bundle of kernels is damaged, of another version, or lacks what was asked for."""


class DeviceError(Error, RuntimeError):
    """The GPU or its driver: absent, too old, out of memory, or a launch that failed; ``code`` is the driver's."""

    code: int = 0


class InternalError(Error, RuntimeError):
    """A bug in Facet: please report it with the message."""
