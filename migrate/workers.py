"""Work spread over processes. One that dies costs the item that killed it, never the run."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context, parent_process
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

SHARES = 8
"""Batches per process: enough to even out what they cost, few enough to send quickly."""


class Died(Exception):
    """The process that worked on an item ended without an answer."""


class Workers(Generic[T, R]):
    """Up to `count` processes that answer batches of items with `work`, one answer for each item.

    `setup` runs once in each process, with `arguments`. Both functions must be importable by their names. Use as a
    context manager. The processes start with the first batch and end when this process ends, however it ends.
    """

    def __init__(
        self,
        count: int,
        work: Callable[[Sequence[T]], Sequence[R]],
        setup: Callable[..., object],
        arguments: tuple[object, ...] = (),
    ) -> None:
        self.count = count
        self.work = work
        self.begin = partial(_begin, setup, *arguments)
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers[T, R]:
        return self

    def __exit__(self, *exception: object) -> None:
        self._close()

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
        if self._pool is None:
            # No fork: the analysis runs in a thread, and a forked copy of its locks could never be opened.
            self._pool = ProcessPoolExecutor(count, get_context("spawn"), self.begin)
        futures: dict[Future[Sequence[R]], list[int]] = {}
        waiting = list(batches)
        try:
            while waiting:
                futures[self._pool.submit(self.work, [items[n] for n in waiting[0]])] = waiting[0]
                waiting.pop(0)
        except BrokenProcessPool:
            pass
        broken = bool(waiting)
        for future in as_completed(futures):
            try:
                answer: Sequence[R] | Died = future.result()
            except BrokenProcessPool:
                answer, broken = Died(), True
            yield futures[future], answer
        for batch in waiting:
            yield batch, Died()
        if broken:
            self._close()

    def _close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


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


def _begin(setup: Callable[..., object], *arguments: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the parent ends us
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    setup(*arguments)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
