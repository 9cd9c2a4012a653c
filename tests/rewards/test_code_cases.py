"""The forms in which public data sets write test cases are read; what is in none of them is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strop.errors import DataError
from strop.rewards.code_cases import Asserts, Calls, Inputs, cases_of

TWO = Inputs((("1 2", "3"), ("4 5", "9")))
ADD = Calls("add", (([1, 2], 3), ([4, 5], 9)), wrapped=True)
LINES = Calls("add", (([1, 2], 3), ([[4], "5"], "9")), wrapped=False)
PAIRS = [{"input": "1 2", "output": "3"}, {"input": "4 5", "output": "9"}]
LISTS = {"inputs": ["1 2", "4 5"], "outputs": ["3", "9"]}
FUNCTION = {"fn_name": "add", "inputs": [[1, 2], [4, 5]], "outputs": [3, 9]}
FUNCTIONAL = [
    {"input": "1\n2", "output": "3", "testtype": "functional"},
    {"input": '[4]\n"5"', "output": '"9"', "testtype": "functional"},
]


@pytest.mark.parametrize(
    ("row", "cases"),
    [
        ({"tests": PAIRS}, TWO),
        ({"test_cases": PAIRS}, TWO),
        ({"tests": json.dumps(PAIRS)}, TWO),
        ({"tests": LISTS}, TWO),
        ({"tests": {"input": ["1 2", "4 5"], "output": ["3", "9"]}}, TWO),
        ({"input_output": json.dumps(LISTS)}, TWO),
        ({"input_output": {**LISTS, "fn_name": None}}, TWO),
        ({"tests": {"inputs": [["1 2"], ["4", "5"]], "outputs": ["3", 9]}}, Inputs((("1 2", "3"), ("4\n5", "9")))),
        ({"verification_info": {"language": "python", "test_cases": PAIRS}}, TWO),
        ({"verification_info": json.dumps({"language": "python", "test_cases": PAIRS})}, TWO),
        ({"reward_model": {"ground_truth": json.dumps(LISTS), "style": "rule"}}, TWO),
        ({"ground_truth": json.dumps(LISTS)}, TWO),
        ({"answer": json.dumps(PAIRS)}, TWO),
        ({"tests": [], "input_output": json.dumps(LISTS)}, TWO),
        ({"tests": "[]", "input_output": json.dumps(LISTS)}, TWO),
        ({**LISTS, "solution": "print(3)"}, TWO),
        ({**FUNCTION}, ADD),
        ({"tests": PAIRS, "metadata": "{not JSON"}, TWO),
        ({"tests": FUNCTION}, ADD),
        ({"input_output": json.dumps(FUNCTION)}, ADD),
        ({"reward_model": {"ground_truth": json.dumps(FUNCTION)}}, ADD),
        ({"tests": {"inputs": [[1, 2], [4, 5]], "outputs": [3, 9]}, "fn_name": "add"}, ADD),
        ({"tests": FUNCTIONAL, "metadata": {"func_name": "add"}}, LINES),
        ({"tests": json.dumps(FUNCTIONAL), "metadata": json.dumps({"func_name": "add"})}, LINES),
        ({"tests": [{**each, "metadata": {"func_name": "add"}} for each in FUNCTIONAL]}, LINES),
        ({"tests": {"fn_name": "add", "inputs": ["1\n2", '[4]\n"5"'], "outputs": ["3", '"9"']}}, LINES),
    ],
)
def test_a_form_is_read(row: dict[str, Any], cases: Inputs | Calls) -> None:
    assert cases_of(row) == cases


MBPP = {
    "test_list": ["assert sum(1, 2) == 3", "assert math.isclose(half(3), 1.5, rel_tol=TINY)"],
    "test_setup_code": "TINY = 1e-9",
    "test_imports": ["import re"],
    "code": "def sum(a, b):\n    return a + b",
}


def test_asserts_ask_for_the_names_that_only_the_program_can_give() -> None:
    cases = cases_of(MBPP)
    assert isinstance(cases, Asserts)
    assert cases.tests == tuple(MBPP["test_list"])
    assert set(cases.names) == {"sum", "half", "TINY"}
    assert cases.modules == ("math",)
    assert "import re\nTINY = 1e-9" in cases.setup


def test_a_builtin_is_pythons_unless_the_rows_own_program_defines_it() -> None:
    row = {name: value for name, value in MBPP.items() if name != "code"}
    cases = cases_of(row)
    assert isinstance(cases, Asserts)
    assert "sum" not in cases.names


@pytest.mark.parametrize("key", ["tests", "ground_truth", "test_cases"])
@pytest.mark.parametrize(
    "wrap", [lambda a: a, json.dumps, lambda a: {"assert_case": a}, lambda a: {"functional": "\n".join(a)}]
)
def test_a_list_of_asserts_is_read_in_any_of_its_wrappings(wrap: Any, key: str) -> None:
    cases = cases_of({key: wrap(["assert f(1) == 2", "assert f(2) == 3"])})
    assert isinstance(cases, Asserts)
    assert "\n".join(cases.tests) == "assert f(1) == 2\nassert f(2) == 3"
    assert cases.names == ("f",)


PROMPT = (
    'from typing import List\n\ndef poly(xs, x):\n    return sum(xs)\n\ndef zero(xs: List[int]):\n    """ find it """\n'
)
CHECK = "def check(candidate):\n    assert poly([1], candidate([1])) == 1\n"


def test_humaneval_calls_check_and_keeps_what_its_prompt_defines() -> None:
    """`poly` is the prompt's: a program that defines its own cannot change what is checked."""
    cases = cases_of({"test": CHECK, "entry_point": "zero"}, PROMPT)
    assert isinstance(cases, Asserts)
    assert cases.tests[0].endswith("\ncheck(zero)\n")
    assert "def poly" in cases.setup
    assert "from typing import List" in cases.setup
    assert "def zero" not in cases.setup
    assert "zero" in cases.names


@pytest.mark.parametrize("prompt", ["", "Write zero.", "def zero(", "class A: pass", "def zero(xs):\n\x00"])
def test_a_prompt_that_is_no_program_defines_nothing(prompt: str) -> None:
    cases = cases_of({"test": CHECK, "entry_point": "zero"}, prompt)
    assert isinstance(cases, Asserts)
    assert cases.setup.strip() == ""


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"question": "x", "difficulty": 3}, "the row has no test cases: it has the columns question, difficulty"),
        ({}, "it has the columns none"),
        ({"tests": "ask your teacher"}, "in no known form: 'ask your teacher'"),
        ({"tests": [1, 2]}, "in no known form"),
        ({"tests": {"language": "python"}}, "in no known form"),
        ({"tests": [{"input": "1"}]}, "in no known form"),
        ({"tests": {"inputs": ["1"], "outputs": []}}, "two lists of one length"),
        ({"tests": ["1", ["2"]]}, "in no known form"),
        ({"tests": "[" * 100_000}, "in no known form"),
        ({"tests": "", "input_output": "ask your teacher"}, "in no known form: 'ask your teacher'"),
        ({"test_list": ["assert f(1) =="]}, "is no Python"),
        ({"test_list": ["assert f('\x00')"]}, "is no Python"),
        ({"test": "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): assert f(1)"}, "unittest classes"),
        ({"tests": {"tests": {"tests": 1}}}, "in no known form"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(row: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        cases_of(row)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", ["", " \n", None, [], {}, "[]", "{}", " [] ", [""], ["", None]])
@pytest.mark.parametrize("column", ["tests", "input_output", "verification_info"])
def test_an_empty_column_is_called_empty(column: str, value: Any) -> None:
    with pytest.raises(DataError, match=f"the row has no test cases: its column {column} is empty$"):
        cases_of({"question": "x", column: value})


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ({"input_output": {"inputs": [], "outputs": []}}, "input_output"),
        ({"input_output": '{"inputs": [], "outputs": [], "fn_name": "f"}'}, "input_output"),
        ({"inputs": [], "outputs": []}, "inputs"),
        ({"verification_info": {"language": "python", "test_cases": []}}, "verification_info"),
        ({"answer": ""}, "answer"),
        ({"tests": [], "answer": "42"}, "tests"),
        ({"reward_model": {"style": "rule", "ground_truth": "[]"}}, "reward_model"),
    ],
)
def test_a_column_whose_lists_are_empty_is_called_empty(row: dict[str, Any], column: str) -> None:
    with pytest.raises(DataError, match=f"its column {column} is empty$"):
        cases_of(row)


def test_what_tests_import_may_be_one_text() -> None:
    for imports in (["import re"], '["import re"]', "import re"):
        cases = cases_of({"tests": ["assert f(1)"], "test_imports": imports})
        assert isinstance(cases, Asserts)
        assert cases.setup.strip() == "import re"


def test_a_test_is_read_without_the_warnings_of_python() -> None:
    cases = cases_of({"tests": ["assert f(1) == '\\d'"]})
    assert isinstance(cases, Asserts)
    assert cases.names == ("f",)
