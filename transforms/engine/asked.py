"""Facts about the repository that note which of their answers were asked for.

An analysis rests on the bytes of its file and on these answers alone, so it can be kept as long as both stay the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from transforms.engine.transform import RepositoryFacts

Question = tuple[str, "str | None"]
"""A field of the facts and a key of it; None asks for the whole field."""


_WHOLE = ("without_to",)
"""Sets that are small, and read whole."""


class Asked:
    """`facts` to hand to an analysis, and what it asked of them."""

    def __init__(self, facts: RepositoryFacts) -> None:
        self.answers = facts
        self.questions: set[Question] = set()
        self.facts = _Noting(facts, self.questions)


def digest(facts: RepositoryFacts, questions: Iterable[Question]) -> bytes:
    """A hash of the answers that `facts` gives to some questions."""
    told = [(name, key or "", _answer(getattr(facts, name), key)) for name, key in questions]
    return hashlib.blake2b(repr(sorted(told)).encode(), digest_size=16).digest()


def _answer(field: object, key: str | None) -> str:
    if isinstance(field, Mapping):
        return repr(sorted(field.items()) if key is None else field.get(key))
    if isinstance(field, AbstractSet):
        return repr(sorted(field) if key is None else key in field)
    return repr(field)


class _Noting(RepositoryFacts):
    """The same facts; each read of a field, or of a key of it, is a question."""

    def __init__(self, facts: RepositoryFacts, questions: set[Question]) -> None:
        for name in RepositoryFacts.__dataclass_fields__:
            value = getattr(facts, name)
            if isinstance(value, Mapping):
                value = _Mapping(name, value, questions)
            elif isinstance(value, AbstractSet) and name not in _WHOLE:
                value = _Set(name, value, questions)
            object.__setattr__(self, f"_{name}", value)
        object.__setattr__(self, "_questions", questions)

    def __getattribute__(self, name: str) -> object:
        if name not in RepositoryFacts.__dataclass_fields__:
            return object.__getattribute__(self, name)
        value = object.__getattribute__(self, f"_{name}")
        if not isinstance(value, (_Mapping, _Set)):
            object.__getattribute__(self, "_questions").add((name, None))
        return value


class _Mapping(Mapping[str, "tuple[str, ...]"]):
    def __init__(self, name: str, answers: Mapping[str, tuple[str, ...]], questions: set[Question]) -> None:
        self._name, self._answers, self._questions = name, answers, questions

    def __getitem__(self, key: str) -> tuple[str, ...]:
        self._questions.add((self._name, key))
        return self._answers[key]

    def __iter__(self) -> Iterator[str]:
        self._questions.add((self._name, None))
        return iter(self._answers)

    def __len__(self) -> int:
        self._questions.add((self._name, None))
        return len(self._answers)


class _Set(AbstractSet[str]):
    def __init__(self, name: str, answers: AbstractSet[str], questions: set[Question]) -> None:
        self._name, self._answers, self._questions = name, answers, questions

    def __contains__(self, key: object) -> bool:
        self._questions.add((self._name, str(key)))
        return key in self._answers

    def __iter__(self) -> Iterator[str]:
        self._questions.add((self._name, None))
        return iter(self._answers)

    def __len__(self) -> int:
        self._questions.add((self._name, None))
        return len(self._answers)
