"""_tracer.pyi has the names and the parameters of the built module: nothing else compares them."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pydtrace
from pydtrace import _tracer

STUB = ast.parse((Path(pydtrace.__file__).parent / "_tracer.pyi").read_text())
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef)]
# made by __cinit__, which has no signature; __exit__ takes *exception, which has no names
NOT_COMPARED = {"__init__", "__exit__"}


def declared_functions(body):
    return [node for node in body if isinstance(node, ast.FunctionDef)]


def declared_names(body):
    return {
        node.target.id if isinstance(node, ast.AnnAssign) else node.name
        for node in body
        if isinstance(node, (ast.AnnAssign, ast.ClassDef, ast.FunctionDef))
    }


def is_property(node):
    return any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)


def compare(where, owner, body):
    """The parameters that differ, a line for each function."""
    differ = []
    for node in declared_functions(body):
        if is_property(node):
            assert inspect.isgetsetdescriptor(owner.__dict__[node.name]), (where, node.name)
        elif node.name not in NOT_COMPARED:
            built = list(inspect.signature(getattr(owner, node.name)).parameters)
            stub = [each.arg for each in node.args.args]
            if built != stub:
                differ.append(f"{where}{node.name}: built {built}, stub {stub}")
    return differ


def test_functions_of_the_module():
    assert compare("", _tracer, STUB.body) == []


def test_methods_of_its_classes():
    assert CLASSES
    for node in CLASSES:
        assert compare(f"{node.name}.", getattr(_tracer, node.name), node.body) == []


def test_no_name_is_missing():
    built = {
        name
        for name, value in vars(_tracer).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert built <= declared_names(STUB.body)
    for node in CLASSES:
        built_class = getattr(_tracer, node.name)
        inherited = {name for base in built_class.__mro__[1:] for name in vars(base)}
        public = {name for name in vars(built_class) if not name.startswith("_")} - inherited
        declared = {name for name in declared_names(node.body) if not name.startswith("_")}
        assert public == declared, node.name
