#!/usr/bin/env python3
"""Checks who includes whom (docs/architecture.md), line by line; prints each breach as file:line: message.

The link targets keep CUDA's and LLVM's include folders from those who may not see them; this keeps the stages in order.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAGES = ["spec", "ir", "analysis", "target", "schedule", "emit"]  # each sees itself and what is left of it
LLVM_DOOR = "compiler/ir/llvm.h"
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]')
CUDA = re.compile(r"^(cuda|nvrtc|nv[A-Z_])")


def stage_of(path):
    """The place of compiler/<stage>/... in the order; compiler/compile.* comes after all stages."""
    parts = path.split("/")
    return len(STAGES) if len(parts) == 2 else STAGES.index(parts[1])


def forbidden(source, target, angled, door_is_open):
    """Why `source` may not include `target`, or None."""
    if target.startswith("llvm"):
        if source == LLVM_DOOR:
            return None
        if not source.endswith(".cpp"):
            return f"LLVM headers are included by .cpp files only, through {LLVM_DOOR}"
        if not source.startswith(("compiler/", "runtime/", "tests/")):
            return "LLVM is seen by compiler/, runtime/ and their tests only"
        return None if door_is_open else f'include "{LLVM_DOOR}" before any other LLVM header'
    if target == LLVM_DOOR and source.endswith(".h"):
        return "a header may not include LLVM: declare what it names, include it in the .cpp"
    room = source.split("/")[0]
    if CUDA.match(target) and room not in ("runtime", "tests"):
        return "CUDA headers are included by runtime/ only"
    if room == "include":
        return None if angled or target.startswith("fa/") else "public headers include the standard library and fa/ only"
    if angled:
        return None
    if room == "compiler":
        if target.startswith("fa/"):
            return None
        if not target.startswith("compiler/"):
            return "compiler/ is pure: it includes compiler/ and fa/ only"
        if stage_of(target) > stage_of(source):
            return f"a stage includes only what is left of it: {' < '.join(STAGES)} < compile"
    if room == "runtime" and target.startswith("tools/"):
        return "runtime/ does not know tools/"
    return None


def breaches(path):
    source = path.relative_to(ROOT).as_posix()
    door_is_open = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        angled, target = match[1] == "<", match[2]
        why = forbidden(source, target, angled, door_is_open)
        door_is_open |= target == LLVM_DOOR
        if not angled and not why and not any((ROOT / base / target).exists() for base in ("", "include")):
            why = "no such file, counted from the repository's root"
        if why:
            yield f"{source}:{number}: {target}: {why}"


def main():
    files = [p for folder in ("include", "compiler", "runtime", "tools", "tests")
             for p in sorted((ROOT / folder).rglob("*")) if p.suffix in (".h", ".cpp")]
    files = [p for p in files if "consumer" not in p.parts]
    found = [text for path in files for text in breaches(path)]
    print("\n".join(found) if found else f"{len(files)} files, every include in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
