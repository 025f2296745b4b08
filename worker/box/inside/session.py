"""Runs Python files one after the other as the cells of one session: `session.py FILE...`.

As in a notebook, a file that fails is told and the next begins, and what the last expression of a file gives is
shown: many a library does its work only then. Runs on Python 3.8 and later.
"""

import ast
import sys
import traceback
import types

MYPY = False
if MYPY:
    from typing import Any

_RICH = ("_repr_html_", "_repr_svg_", "_repr_png_", "_repr_mimebundle_")


def _show(value: "Any") -> None:
    if value is None:
        return
    print(repr(value))  # noqa: T201
    for name in _RICH:
        show = getattr(type(value), name, None)
        if callable(show):
            show(value)


def _run(path: str, namespace: "dict[str, Any]") -> None:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        tree = ast.parse(file.read(), path)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, path, "exec"), namespace)  # noqa: S102
    if isinstance(last, ast.Expr):
        _show(eval(compile(ast.Expression(last.value), path, "eval"), namespace))  # noqa: S307


def _tell() -> None:
    """The error, without the lines of this file."""
    kind, error, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


def main(paths: "list[str]") -> int:
    """1 where a file failed."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    failed = 0
    for path in paths:
        try:
            _run(path, module.__dict__)
        except (Exception, SystemExit):
            failed = 1
            _tell()
    return failed


if __name__ == "__main__":
    given = sys.argv[1:]
    del sys.argv[1:]
    sys.exit(main(given))
