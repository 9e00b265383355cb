"""What cannot be traced, with the line of the user's program that asked for it."""

from __future__ import annotations

import linecache
import os
import sys
from types import FrameType
from typing import Optional

from ...errors import Error

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class TraceError(Error, NotImplementedError):
    """A score_mod or mask_mod does what Facet cannot compute in a kernel; names the line and the operation."""


def error(message: str) -> TraceError:
    """The error, at the line of the program that is being traced."""
    return TraceError(f"{place()}{message}")


def place() -> str:
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_OURS) and f"{os.sep}torch{os.sep}" not in code.co_filename:
            line = linecache.getline(code.co_filename, frame.f_lineno).strip()
            return f"{code.co_filename}:{frame.f_lineno}: in {code.co_name}: {line}\n  "
        frame = frame.f_back
    return ""


class Specialise(BaseException):
    """A captured number decides something that must be known while tracing: it becomes part of the program, which is traced
    again. Not an Exception, so that no program catches it."""

    def __init__(self, params: frozenset):
        self.params = params
