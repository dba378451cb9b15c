"""Parsing with guards: no input may kill the process or hide behind a vague message."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import TypeVar

import libcst as cst

from transforms.engine.source import Source, Unreadable, guard_depth

T = TypeVar("T")

STACK_BYTES = 512 * 1024 * 1024
"""Virtual stack of the analysis thread; pages are touched only when used. LibCST overflows 8 MB on legal code."""

RECURSION_LIMIT = 100_000


def compiles(text: str) -> SyntaxError | None:
    """None when the running Python takes the text, else its error (newer syntax than the host's also ends here)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<source>", "exec", dont_inherit=True, optimize=0)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return SyntaxError(str(error) or type(error).__name__)
    return None


def parse(source: Source) -> cst.Module:
    """The LibCST module of a file. Raises `Unreadable` with the line that `compile()` names.

    Run inside `on_big_stack`. LibCST takes some texts that the running Python refuses: newer syntax, and Python 2 that
    reads as newer syntax (`except E, e:`). The text after an edit is held to what the text before it was.
    """
    guard_depth(source.text)
    try:
        module = cst.parse_module(source.parsed)
    except (cst.ParserSyntaxError, SyntaxError, RecursionError, UnicodeError) as error:
        raise _unreadable(source, error) from None
    except MemoryError:
        raise
    except Exception as error:  # the native parser raises its own kinds; one bad file must never stop a run
        raise Unreadable(f"LibCST failed: {type(error).__name__}: {error}") from None
    return module


def _unreadable(source: Source, error: Exception) -> Unreadable:
    known = compiles(source.text)
    if known is not None:
        return Unreadable(f"not valid Python: {known.msg}", known.lineno or 1)
    if isinstance(error, cst.ParserSyntaxError):
        return Unreadable(f"LibCST can't parse it: {error.message.splitlines()[0]}", error.raw_line)
    return Unreadable(f"LibCST can't parse it: {error}")


def on_big_stack(work: Callable[[], T]) -> T:
    """Run `work` in a thread whose stack is large enough for the deepest legal code, and hand on what it raises.

    Raises OSError where the system has no room for the stack.
    """
    if getattr(threading.current_thread(), "big_stack", False):
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            sys.setrecursionlimit(limit)

    before = threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=target, name="analysis", daemon=True)
        thread.big_stack = True  # type: ignore[attr-defined]
        thread.start()
    except RuntimeError:
        needed = f"{STACK_BYTES // 2**20} MiB of address space are needed for a stack"
        raise OSError(f"{needed}, and a limit (ulimit -v, ulimit -u) leaves no room for it") from None
    finally:
        threading.stack_size(before)
    while thread.is_alive():
        thread.join(0.1)  # a bounded wait lets Ctrl-C through on the main thread
    if failure:
        raise failure[0]
    return outcome[0]
