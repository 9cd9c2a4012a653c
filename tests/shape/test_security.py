"""What is never written: code from data, pickles, or a model repository's own Python."""

from __future__ import annotations

import ast

import pytest

from tests.shape.source import functions, imports, python_files, tree

SOURCES = python_files("strop", "examples")
FORBIDDEN_IMPORTS = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"}
FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "compile",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "torch.load",
    "os.system",
}
FORBIDDEN_ARGUMENTS = {"trust_remote_code", "shell", "allow_pickle"}


@pytest.mark.parametrize("path", SOURCES)
def test_no_file_imports_a_pickle(path: str) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & FORBIDDEN_IMPORTS


@pytest.mark.parametrize("path", SOURCES)
def test_no_file_runs_data_or_a_repositorys_code(path: str) -> None:
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.Call):
            continue
        assert ast.unparse(node.func) not in FORBIDDEN_CALLS, f"{path}:{node.lineno}"
        switched_on = [
            keyword.arg
            for keyword in node.keywords
            if keyword.arg in FORBIDDEN_ARGUMENTS and getattr(keyword.value, "value", None) is True
        ]
        assert not switched_on, f"{path}:{node.lineno}: {switched_on[0]}=True"


@pytest.mark.parametrize("path", SOURCES)
def test_a_signal_handler_only_sets_a_flag(path: str) -> None:
    handlers = {
        ast.unparse(node.args[1]).rpartition(".")[2]
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "signal.signal" and len(node.args) > 1
    }
    for function in functions(path):
        if function.name in handlers:
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            assert not calls, f"{path}:{function.lineno}: {function.name} calls {ast.unparse(calls[0])}"
