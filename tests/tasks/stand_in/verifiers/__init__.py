"""Stands in for verifiers 0.4 where that is not installed: what strop asks of it, written anew, with the same names.

tests/tasks/test_verifiers_task.py runs against either.
"""

__version__ = "0.4.0"
