#!/usr/bin/env python3
"""Checks who includes whom (docs/architecture.md), line by line; prints each breach as file:line: message.

The link targets keep CUDA's and LLVM's include folders from those who may not see them; this keeps the stages in order.
"""
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAGES = ["spec", "program", "ir", "analysis", "derive", "target", "schedule", "tune", "emit"]  # each sees itself and what is left of it
LLVM_DOOR = re.compile(r"^compiler/ir/llvm(/\w+)?\.h$")
SHARED = re.compile(r"^templates/[\w/]+\.h$")  # plain C++, shared by host and device (.cuh is for the device alone)
# runtime/'s folders that know no compiler, as CMakeLists.txt lists them.
BUNDLE = tuple(f"runtime/{folder}/" for folder in re.search(r"set\(FA_BUNDLE_FOLDERS ([\w ]+)\)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1].split())
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([\w/.+-]+)[">]')
CUDA = re.compile(r"^(cuda|nvrtc|nv[A-Z_])")


def stage_of(path):
    """The place of compiler/<stage>/... in the order; compiler/compile.* comes after all stages."""
    parts = path.split("/")
    return len(STAGES) if len(parts) == 2 else STAGES.index(parts[1])


def includes(source):
    """(line number, target, angled) of each #include of a file, by its path from the root."""
    for number, line in enumerate((ROOT / source).read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[2], match[1] == "<"


@functools.cache
def brings_llvm(source):
    """Whether a header of ours includes LLVM, itself or through another. Private headers of a stage may."""
    if LLVM_DOOR.match(source):
        return True
    return (ROOT / source).exists() and any(not angled and brings_llvm(target) for _, target, angled in includes(source))


def forbidden(source, target, angled):
    """Why `source` may not include `target`, or None."""
    room = source.split("/")[0]
    if target.endswith(".cuh"):  # text that a test or an emitter writes, not an include of its own
        return None
    if target.startswith("llvm"):
        return None if LLVM_DOOR.match(source) else "LLVM is included through compiler/ir/llvm.h and the headers of compiler/ir/llvm/"
    if not angled and brings_llvm(target):
        if room not in ("compiler", "tests") and not (room == "runtime" and source.endswith(".cpp")):
            return "brings LLVM, which only compiler/, runtime/'s .cpp files and the tests may see"
    if CUDA.match(target) and room not in ("runtime", "tests"):
        return "CUDA headers are included by runtime/ only"
    if room == "include":
        return None if angled or target.startswith("fa/") else "public headers include the standard library and fa/ only"
    if angled:
        return None
    if room == "compiler":
        if target.startswith("fa/") or (SHARED.match(target) and source.startswith(("compiler/emit/", "compiler/program/"))):
            return None
        if not target.startswith("compiler/"):
            return "compiler/ is pure: it includes compiler/ and fa/ only"
        if stage_of(target) > stage_of(source):
            return f"a stage includes only what is left of it: {' < '.join(STAGES)} < compile"
    if room == "runtime" and target.startswith("tools/"):
        return "runtime/ does not know tools/"
    if room == "python":
        own = target.startswith(("fa/", "python/src/", "tools/")) or source == "python/src/explain.cpp" and target.startswith("compiler/")
        return None if own else "python/ sees include/fa and what explain takes from tools/; explain.cpp alone sees compiler/"
    if target.startswith("python/"):
        return "nothing but python/ knows python/"
    if source.startswith(BUNDLE):
        known = target.startswith(("fa/", "compiler/spec/", "compiler/program/")) or SHARED.match(target) or target.startswith(BUNDLE)
        return None if known else "a program with a bundle has no compiler: fa_bundle sees compiler/spec/, compiler/program/, templates/ and itself"
    return None


def breaches(path):
    source = path.relative_to(ROOT).as_posix()
    for number, target, angled in includes(source):
        why = forbidden(source, target, angled)
        if not angled and not why and not target.endswith(".cuh") and not any((ROOT / base / target).exists() for base in ("", "include")):
            why = "no such file, counted from the repository's root"
        if why:
            yield f"{source}:{number}: {target}: {why}"


def main():
    files = [p for folder in ("include", "compiler", "runtime", "tools", "python", "tests", "examples")
             for p in sorted((ROOT / folder).rglob("*")) if p.suffix in (".h", ".cpp")]
    files = [p for p in files if "consumer" not in p.parts and p.parts[-3:-1] != ("import", "good")]
    found = [text for path in files for text in breaches(path)]
    print("\n".join(found) if found else f"{len(files)} files, every include in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
