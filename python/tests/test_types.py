"""Types: mypy finds nothing wrong, and the stub that ships says what the extension module has."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import facet
from facet import _core

ROOT = Path(__file__).resolve().parents[2]


def test_mypy_finds_nothing():
    found = subprocess.run([sys.executable, "-m", "mypy", "python/facet", "python/tests/typed_calls.py"], cwd=ROOT, text=True,
                           capture_output=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_type_checkers_of_users_find_the_types():
    package = Path(facet.__file__).parent
    assert (package / "py.typed").is_file() and (package / "_core.pyi").is_file()


def test_stub_is_that_of_the_extension_module():
    stub = ast.parse((Path(facet.__file__).parent / "_core.pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert public(_core) == {*classes, *functions}
    for name, function in functions.items():
        assert parameters(function) == parameters_in(getattr(_core, name)), name
    for name, definition in classes.items():
        of_class = getattr(_core, name)
        members = {node.name: node for node in definition.body if isinstance(node, ast.FunctionDef)}
        assert public(of_class) == {*members} - {"__init__"}, name
        for member, node in members.items():
            if not any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list):
                assert parameters(node) == parameters_in(getattr(of_class, member)), f"{name}.{member}"


def public(item):
    return {name for name in vars(item) if not name.startswith("_")}


def parameters(function):
    """How a function is called: how many arguments by place alone, the names of the others, and how many have defaults."""
    args = function.args
    return (len(args.posonlyargs), [arg.arg for arg in args.args], [arg.arg for arg in args.kwonlyargs],
            len(args.defaults), sum(default is not None for default in args.kw_defaults))


def parameters_in(function):
    """The same of a function of nanobind, which keeps its signature as text: almost Python's, with \\0, \\1, ... for defaults."""
    text = re.sub(r"\\\d+", "...", function.__nb_signature__[0][0])
    text = re.sub(r"ndarray\[.*?\]", "ndarray", text)
    return parameters(ast.parse(text + ": ...").body[0])
