"""Work spread over processes. One that dies costs the item that killed it, never the run.

The processes are plain ones with two pipes, and nothing of the standard library's `multiprocessing`: its children
look for their modules in the current folder first (a repository may have a `queue.py`), run the main script again,
and leave semaphores to a helper that complains when the run is interrupted.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import IO, Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

SHARES = 8
"""Batches per process: enough to even out what they cost, few enough to send quickly."""

_START = "import sys; sys.path[:] = sys.argv[1:]; from migrate.workers import serve; serve()"
"""What a process runs. The path is set before anything is imported: Python put the current folder in front."""

_FLAGS = {"ignore_environment": "-E", "no_user_site": "-s", "dont_write_bytecode": "-B", "optimize": "-O"}
"""Options of this interpreter that others must be started with."""


class Died(Exception):
    """The process that worked on an item ended without an answer."""


class _CannotStart(Exception):
    """No process can be had: a limit, too little memory, an interpreter that can't be started."""


class Workers(Generic[T, R]):
    """Up to `count` processes that answer batches of items with `work`, one answer for each item.

    `setup` runs once in each process, with `arguments`. Both functions must be importable by their names. Use as a
    context manager. The processes start with the first batch and end when this process ends, however it ends. Where
    no process can be started, the work is done in this one.
    """

    def __init__(
        self,
        count: int,
        work: Callable[[Sequence[T]], Sequence[R]],
        setup: Callable[..., object],
        arguments: tuple[object, ...] = (),
    ) -> None:
        self.count = count
        self._job = (work, setup, arguments)
        self._ready = False
        self._processes: list[_Process] = []

    def __enter__(self) -> Workers[T, R]:
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self._processes:
            process.end()

    def answers(self, items: Sequence[T], sizes: Sequence[int]) -> Iterator[tuple[int, R | Died]]:
        """Number and answer of each item, in the order in which they come. `sizes` say what the items cost, roughly."""
        batches = share_out(sizes, self.count * SHARES)
        lost: list[int] = []
        for batch, answer in self._batches(items, batches, self.count):
            if isinstance(answer, Died):
                lost += batch
            else:
                yield from zip(batch, answer)
        for number in sorted(lost):
            ((_, answer),) = self._batches(items, [[number]], 1)
            yield number, answer if isinstance(answer, Died) else answer[0]

    def _batches(
        self, items: Sequence[T], batches: Sequence[list[int]], count: int
    ) -> Iterator[tuple[list[int], Sequence[R] | Died]]:
        waiting = deque(batches)
        done: SimpleQueue[tuple[list[int], Sequence[R] | Died] | None] = SimpleQueue()
        while len(self._processes) < count:
            self._processes.append(_Process(self._job))
        running = 0
        for process in self._processes[: min(count, len(batches))]:
            thread = threading.Thread(target=_feed, args=(process, items, waiting, done), name="worker", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # a limit on threads
                break
            running += 1
        while running:
            found = done.get()
            if found is None:
                running -= 1
            else:
                yield found
        for batch in waiting:
            yield batch, self._here([items[n] for n in batch])

    def _here(self, batch: Sequence[T]) -> Sequence[R]:
        work, setup, arguments = self._job
        if not self._ready:
            setup(*arguments)
            self._ready = True
        return work(batch)


def _feed(
    process: _Process,
    items: Sequence[T],
    waiting: deque[list[int]],
    done: SimpleQueue[tuple[list[int], Any] | None],
) -> None:
    """Hand a process one batch after the other. A batch that can't be handed over goes on waiting."""
    try:
        while True:
            try:
                batch = waiting.popleft()
            except IndexError:
                return
            try:
                done.put((batch, process.answer([items[n] for n in batch])))
            except (_CannotStart, MemoryError):
                waiting.append(batch)
                return
    finally:
        done.put(None)


class _Process:
    """One process at a time; a new one after one that died."""

    def __init__(self, job: tuple[object, ...]) -> None:
        self._job = job
        self._child: subprocess.Popen[bytes] | None = None

    def answer(self, batch: Sequence[Any]) -> Any:
        """The answers for a batch, `Died` where the process ended. Raises `_CannotStart`."""
        child = self._child or self._start()
        try:
            return _exchange(child, batch)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.end()
            return Died()

    def end(self) -> None:
        """End the process, whatever it does."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()

    def _start(self) -> subprocess.Popen[bytes]:
        flags = [flag for name, flag in _FLAGS.items() if getattr(sys.flags, name)]
        try:
            self._child = subprocess.Popen(
                [sys.executable, *flags, "-c", _START, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C in a terminal goes to a group: to this process alone, which ends it
            )
            _exchange(self._child, self._job)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            self.end()
            raise _CannotStart from error
        return self._child


def _exchange(child: subprocess.Popen[bytes], value: object) -> Any:
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    child.stdin.flush()
    return pickle.load(child.stdout)


def serve() -> None:
    """What a process does all its life: take the job, then answer batches, until nobody is there to ask."""
    from transforms.engine.parse import on_big_stack

    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # what anybody prints must not get between the answers
        on_big_stack(lambda: _serve(asked, answers))  # one stack for all batches: a limit refuses it at once, or never
    finally:
        os._exit(1)


def _serve(asked: IO[bytes], answers: IO[bytes]) -> None:
    work, setup, arguments = pickle.load(asked)
    setup(*arguments)
    _send(answers, None)
    batches: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=(asked, batches), name="parent", daemon=True).start()
    while True:
        _send(answers, work(batches.get()))


def _send(answers: IO[bytes], value: object) -> None:
    answers.write(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    answers.flush()


def _receive(asked: IO[bytes], batches: SimpleQueue[Any]) -> None:
    """Take batches. The pipe ends with the parent, and then this process ends, also in the middle of its work."""
    try:
        while True:
            batches.put(pickle.load(asked))
    finally:
        os._exit(1)


def share_out(sizes: Sequence[int], shares: int) -> list[list[int]]:
    """Numbers of items in batches of about equal size, the largest items first."""
    most = max(1, sum(sizes) // max(1, shares))
    batches: list[list[int]] = []
    room = 0
    for number in sorted(range(len(sizes)), key=lambda n: -sizes[n]):
        if not batches or sizes[number] > room:
            batches.append([])
            room = most
        batches[-1].append(number)
        room -= sizes[number]
    return batches


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
