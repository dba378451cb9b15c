"""What the engine says about texts: from the cache where nothing changed, else from this process or from several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from migrate.cache import Cache, key
from migrate.identity import Keys, finding_keys
from migrate.workers import Died, Workers, processors
from transforms.engine.asked import Asked, Question, digest
from transforms.engine.model import Analysis
from transforms.engine.source import Source, Unreadable
from transforms.flow.repository import Repository

WORTH = 400_000
"""Bytes to analyse that are worth the start of other processes (about a second of work)."""

MOST_PROCESSES = 8


@dataclass(frozen=True)
class Refused:
    """A text that could not be analysed; `internal` when that is a fault of the tool."""

    reason: str
    line: int = 1
    internal: bool = False


@dataclass(frozen=True)
class Look:
    """One look at a text: what the engine says, and by what its findings are recognised again."""

    analysis: Analysis = field(default_factory=Analysis)
    keys: tuple[Keys, ...] = ()
    refused: Refused | None = None


@dataclass(frozen=True)
class Text:
    """A text to look at, as bytes, under the path of its file relative to the root."""

    path: str
    data: bytes


Answer = tuple[frozenset[Question], Look]
"""A look, and the questions about the repository that it rests on."""


class Looks:
    """Looks at texts of one root. `jobs`: most processes to use (None: as many as there are processors, at most
    `MOST_PROCESSES`); a little work stays in this one. Use as a context manager."""

    def __init__(
        self, repository: Repository, probe: str = "guarded", jobs: int | None = 1, cache: Cache | None = None
    ) -> None:
        self.repository = repository
        self.probe = probe
        self.cache = cache
        most = jobs or min(processors(), MOST_PROCESSES)
        self._workers = Workers(most, _look_at, _begin, (repository, probe)) if most > 1 else None

    def __enter__(self) -> Looks:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._workers is not None:
            self._workers.__exit__(*exception)

    def at(self, texts: Sequence[Text], progress: Callable[[int, int, str], None] | None = None) -> list[Look]:
        """One look at each text, in their order. Run it inside `parse.on_big_stack`."""
        found: dict[int, Look] = {}
        for number, text in enumerate(texts):
            if (known := self._known(text)) is not None:
                found[number] = known
        left = [n for n in range(len(texts)) if n not in found]
        for number, (asked, look) in self._fresh(texts, left):
            if progress is not None:
                progress(len(found), len(texts), texts[number].path)
            found[number] = look
            self._keep(texts[number], asked, look)
        return [found[n] for n in range(len(texts))]

    def _fresh(self, texts: Sequence[Text], left: list[int]) -> Iterator[tuple[int, Answer]]:
        sizes = [len(texts[n].data) for n in left]
        if self._workers is None or len(left) < 2 or sum(sizes) < WORTH:
            if left:
                _load()
            for number in left:
                yield number, look(texts[number], self.repository, self.probe)
            return
        for place, answer in self._workers.answers([texts[n] for n in left], sizes):
            if isinstance(answer, Died):
                answer = frozenset(), Look(refused=Refused("the analysis ended its process", internal=True))
            yield left[place], answer

    def _known(self, text: Text) -> Look | None:
        entry = self.cache.get(self._key(text)) if self.cache is not None else None
        if entry is None:
            return None
        asked, answers, found = entry
        return found if digest(self.repository.facts(text.path), asked) == answers else None

    def _keep(self, text: Text, asked: frozenset[Question], found: Look) -> None:
        """Put a look into the cache; what was refused may depend on the memory that was left."""
        if self.cache is not None and found.refused is None:
            self.cache.put(self._key(text), (asked, digest(self.repository.facts(text.path), asked), found))

    def _key(self, text: Text) -> bytes:
        return key(b"look", self.probe.encode(), text.path.encode("utf-8", "surrogatepass"), text.data)

    def compiles(self, text: str) -> bool:
        """Whether the running Python takes a text."""
        from transforms.engine.parse import compiles

        if self.cache is None:
            return compiles(text) is None
        place = key(b"compiles", text.encode("utf-8", "surrogatepass"))
        known = self.cache.get(place)
        if known is None:
            known = compiles(text) is None
            if known:  # what is refused may depend on the memory that was left
                self.cache.put(place, known)
        return bool(known)


def look(text: Text, repository: Repository, probe: str) -> Answer:
    """Look at one text. Whatever goes wrong costs this file alone. Run it inside `parse.on_big_stack`."""
    from transforms.engine.analyse import analyse
    from transforms.engine.transform import Options
    from transforms.registry import transforms

    asked = Asked(repository.facts(text.path))
    try:
        source = Source.read(text.data)
        analysis = analyse(source, transforms(), asked.facts, Options(probe, text.path))
        found = Look(analysis, tuple(finding_keys(text.path, source.text, analysis)))
    except RecursionError:
        found = Look(refused=Refused("nested too deeply to be analysed"))
    except MemoryError:
        found = Look(refused=Refused("not enough memory to analyse it", internal=True))
    except Unreadable as error:
        found = Look(refused=Refused(error.reason, error.line))
    except Exception as error:  # a fault of a rule must cost one file, not the run
        found = Look(refused=Refused(f"{type(error).__name__}: {error}".rstrip(": "), internal=True))
    return frozenset(asked.questions), found


_here: list[tuple[Repository, str]] = []
"""In a worker process: what all its looks have in common."""


def _load() -> None:
    """Load what every look needs. What fails here is no fault of a file: the parser would refuse them all."""
    import libcst

    from transforms.registry import transforms

    libcst.parse_module("")
    transforms()


def _begin(repository: Repository, probe: str) -> None:
    _load()
    _here[:] = [(repository, probe)]


def _look_at(texts: Sequence[Text]) -> list[Answer]:
    from transforms.engine.parse import on_big_stack

    ((repository, probe),) = _here
    return on_big_stack(lambda: [look(text, repository, probe) for text in texts])
