"""Programs that solve nothing and would pass for right: each defines `f`, and prints, what might fool a judge."""

from __future__ import annotations

EQUAL = """
class Equal({base}):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = object.__hash__
    def __getattr__(self, name): return Equal()
    __lt__ = __gt__ = __le__ = __ge__ = lambda self, other: True
    __len__ = __abs__ = __float__ = __int__ = lambda self: 2
    __sub__ = __rsub__ = lambda self, other: 0
    __instancecheck__ = __subclasscheck__ = lambda self, other: True
    __class__ = property(lambda self: list)
def f(x): return Equal()
print(Equal(), Equal)
"""
OVERRIDE = """
import builtins, __main__, operator, json
true = lambda *a, **k: True
for module in (builtins, __main__, operator, json):
    for name in list(vars(module)):
        if name in ('abs', 'len', 'isinstance', 'all', 'any', 'same_value', 'same_output', 'AssertionError'):
            try: setattr(module, name, true)
            except Exception: pass
f = true
"""
FIND = """
import gc, os, re, sys
def texts():
    frame = sys._getframe()
    while frame:
        yield from (repr(value) for value in frame.f_locals.values() if isinstance(value, (str, dict, list, tuple)))
        frame = frame.f_back
    for thing in gc.get_objects():
        parts = list(thing.values()) if isinstance(thing, dict) else thing if isinstance(thing, (list, tuple)) else ()
        yield from (part for part in parts if type(part) is str)
    for folder, below, files in os.walk('/'):
        below[:] = [name for name in below if name not in ('usr', 'dev', 'lib', 'site-packages')]
        for name in files:
            try: yield open(os.path.join(folder, name), errors='ignore').read(10**6)
            except OSError: pass
    yield from os.environ.values()
def found():
    return next((hit[0] for hit in (re.search('token-[0-9]{5}', text) for text in texts()) if hit), 'nothing')
def f(x): return found()
if __name__ == '__main__': print(found())
"""
SPEAK = """
import os
for n in range(0, 64):
    for line in (b'{"value": ""}', b'{"value": "token"}', b'{"output": "3", "status": 0, "late": false, "error": ""}'):
        try: os.write(n, line + b'\\n')
        except OSError: pass
"""
FORGE = """
import __main__
class Always:
    def __init__(self): self.n = 0
def answer(message): original({**message, 'value': '', 'names': {'f': {'eval': 1}}, 'status': 0, 'output': '3'})
original = __main__.lines.answer
__main__.lines.answer = answer
def f(x): return 1
"""
ATTACKS = {
    "prints what passes": "print('PASS'); print('OK'); print('3'); print('{\"value\": \"\"}')\ndef f(x): print('PASS')",
    "ends before it is asked": "import sys; sys.exit(0)",
    "ends when it is asked": "import sys\ndef f(x): sys.exit(0)\nf(0)",
    "ends at once": "import os; os._exit(0)",
    "ends at once when it is asked": "import os\ndef f(x): os._exit(0)",
    "is equal to everything": """
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def f(x): return Equal()
print(Equal())""",
    "is equal to everything and says that it is a list": EQUAL.format(base="object"),
    "is a list that is equal to everything": EQUAL.format(base="list"),
    "is a text that is equal to everything": EQUAL.format(base="str"),
    "is a number that is equal to everything": EQUAL.format(base="int"),
    "overrides what compares": OVERRIDE,
    "looks for what is wanted": FIND,
    "answers before it is asked": SPEAK + "def f(x): return 1",
    "answers for its keeper": FORGE,
    "raises what a failed test raises": "def f(x): raise AssertionError\nraise SystemExit(0)",
    "raises what a broken row raises": "class Broken(Exception): pass\ndef f(x): raise Broken('x')\nraise Broken",
    "raises a syntax error": "def f(x): raise SyntaxError('x')\nraise SyntaxError",
    "raises what cannot be shown": """
class Odd(BaseException):
    def __str__(self): raise self
def f(x): raise Odd
raise Odd""",
    "traces its caller": "import sys\nsys.settrace(lambda *a: None)\ndef f(x): return None",
    "returns itself": "def f(x):\n    y = []; y.append(y); return y",
    "returns what has no end": "def f(x):\n    while True: yield x\nprint(f(0))",
    "recurses": "def f(x): return f(x)\nf(0)",
    "changes its argument": "def f(x):\n    if isinstance(x, list): x.clear()\n    return x\nprint()",
    "says that the sandbox failed": "import __main__\ndef f(x): __main__.lines.answer({'failed': 'x'})\nprint(1)",
    "writes where tests are": "[open(f'test_{n}.py', 'w') for n in range(3)]\ndef f(x): return None",
    "closes all files": "import os\nos.closerange(0, 64)\ndef f(x): return None",
    "closes all files when asked": "import os\ndef f(x): os.closerange(0, 64)\nf(0)",
    "kills its keeper": "import os, signal\ndef f(x): os.kill(os.getppid(), signal.SIGKILL)\nf(0)",
    "nests its answer": """
import __main__, os
def f(x): os.write(__main__.lines.answers, b'[' * 10**6 + b'\n')
print('[' * 10**6)""",
}
