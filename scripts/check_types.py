#!/usr/bin/env python3
"""Checks that no two types have one name: a program that holds both is undefined, and the linker takes either's functions.

Reads the type definitions at the beginning of a line, in named namespaces. templates/ is left out: a kernel's source
holds one of the folders there.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["compiler", "include", "python/src", "runtime", "tests", "tools"]
NAMESPACE = re.compile(r"^(?:inline )?namespace\b ?([\w:]*).*\{$")
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?) (\w+)(?= |$)[^;:]*(?::[^:].*)?\{")


def types_of(text):
    """(line number, full name) of each type that the text defines for others to see."""
    namespaces = []
    for number, line in enumerate(text.splitlines(), 1):
        if opened := NAMESPACE.match(line):
            namespaces.append(opened[1])
        elif line.startswith("}  // namespace"):
            namespaces.pop()
        elif (found := TYPE.match(line)) and "" not in namespaces:
            yield number, "::".join([*namespaces, found[1]])


def main():
    places = collections.defaultdict(list)
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".h", ".cpp"):
                for number, name in types_of(file.read_text(encoding="utf-8")):
                    places[name].append(f"{file.relative_to(ROOT)}:{number}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    for name, (first, *others) in twice.items():
        for other in others:
            print(f"{other}: {name} is another type's name, too ({first}): rename one")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
