"""What a project asks for: the keys of `[tool.neuron-migrate]` or `neuron-migrate.toml`, and how they combine.

Command line options win over the file, key by key. `[[per-path]]` tables hold for the paths they name: their `select`
and `level` replace the general value unless the command line gave one, their `ignore` adds to it.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

OWN_FILE = "neuron-migrate.toml"
PYPROJECT = "pyproject.toml"
TABLE = "neuron-migrate"

LEVELS = ("safe", "review", "offer")
FAIL_ON = ("error", "warning", "all", "none")
FORMATS = ("text", "json", "sarif", "github", "markdown")
PROBES = ("guarded", "plain", "accelerator")


class SettingsError(Exception):
    """The configuration can't be used; the message names the file, the key and the remedy."""


@dataclass(frozen=True)
class PathOverride:
    """One `[[per-path]]` table: gitignore-style patterns relative to the root, and what holds for them."""

    paths: tuple[str, ...]
    ignore: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    level: str | None = None


@dataclass(frozen=True)
class Settings:
    """All settings with their defaults. Selectors are rule codes, prefixes of codes, or rule names."""

    select: tuple[str, ...] = ()  # empty: all rules
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tests: bool = False
    level: str = "review"
    fail_on: str = "error"
    format: str = "text"
    jobs: int | None = None  # None: the tool decides
    probe: str = "guarded"
    baseline: Path | None = None
    per_path: tuple[PathOverride, ...] = ()
    source: Path | None = None  # the file that they were read from
    given: frozenset[str] = frozenset()  # the fields that came from the command line

    def merged(self, options: Mapping[str, Any]) -> Settings:
        """These settings with command line options, by field name. None and an empty list mean "not given"."""
        given = {name: value for name, value in options.items() if value is not None and value != () and value != []}
        for name, value in given.items():
            if isinstance(value, list):
                given[name] = tuple(value)
        return replace(self, **given, given=self.given | given.keys())

    def for_path(self, path: str) -> Settings:
        """The settings for one file, `path` relative to the root with `/`; later tables win over earlier ones."""
        found = replace(self, per_path=()) if self.per_path else self
        for override in self.per_path:
            if not _matcher(override.paths)(path):
                continue
            select = override.select if override.select and "select" not in self.given else found.select
            level = override.level if override.level and "level" not in self.given else found.level
            found = replace(found, select=select, level=level, ignore=found.ignore + override.ignore)
        return found

    def enables(self, code: str, name: str) -> bool:
        """Whether the rule runs. The longest selector that names it decides; `ignore` wins between equals."""
        selected = max((selector_length(s, code, name) for s in self.select), default=0) if self.select else 1
        ignored = max((selector_length(s, code, name) for s in self.ignore), default=0)
        if not selected or not ignored:
            return selected > 0
        return bool(self.select) and selected > ignored

    def check_rules(self, known: Mapping[str, str]) -> None:
        """Raises SettingsError for a selector that names none of the `known` rules (code to name)."""
        keys = [("select", self.select), ("ignore", self.ignore)]
        for number, override in enumerate(self.per_path, 1):
            where = f"per-path[{number}]"
            keys += [(f"{where}.select", override.select), (f"{where}.ignore", override.ignore)]
        for key, selectors in keys:
            for selector in selectors:
                if not any(selector_length(selector, code, name) for code, name in known.items()):
                    place = f"--{key}" if key in self.given or self.source is None else f"{self.source}: {key}"
                    hint = did_you_mean(selector, [*known, *known.values()])
                    raise SettingsError(f"{place}: no rule is called {selector!r}{hint}")


def selector_length(selector: str, code: str, name: str) -> int:
    """How exactly a selector names a rule: 0 not at all, else the length of the part of the code that it fixes.

    `TN101` and `device-string` name one rule, `TN1` a family, `TN` all.
    """
    if selector.lower() == name.lower():
        return len(code)
    prefix = selector.upper()
    letters = code.rstrip("0123456789")
    return len(prefix) if prefix.startswith(letters) and code.startswith(prefix) else 0


def did_you_mean(word: str, candidates: list[str]) -> str:
    """A clause for an error message, empty when nothing is close."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    close = get_close_matches(word.lower().replace("_", "-"), by_lower, n=1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""


def settings_file(folder: Path) -> Path | None:
    """The file that makes this folder a root, if there is one.

    A pyproject.toml that names the tool but can't be parsed counts: reading it then says what is wrong with it.
    """
    own = folder / OWN_FILE
    if own.is_file():
        return own
    pyproject = folder / PYPROJECT
    try:
        text = pyproject.read_bytes()
    except OSError:
        return None
    if TABLE.encode() not in text:
        return None
    try:
        return pyproject if _tool_table(_parse(pyproject)) is not None else None
    except SettingsError:
        return pyproject


def load_settings(root: Path, config: Path | None = None) -> Settings:
    """The settings of the project at `root`, or of the file `config` in their place.

    Raises SettingsError for unreadable or broken TOML, unknown keys, wrong types and values, and when both
    neuron-migrate.toml and pyproject.toml hold settings, as only one of them could be meant.
    """
    file = config if config is not None else settings_file(root)
    if file is None:
        return Settings()
    if config is None and file.name == OWN_FILE:
        _refuse_two_files(root)
    document = _parse(file)
    table = document
    if file.name == PYPROJECT:
        found = _tool_table(document)
        if found is None and config is not None:
            raise SettingsError(f"{file}: there is no table [tool.{TABLE}]")
        table = {} if found is None else found
    elif "tool" in document:
        raise SettingsError(f"{file}: tool: the keys of this file stand at the top, without [tool.{TABLE}]")
    return _from_table(table, file)


def _refuse_two_files(root: Path) -> None:
    pyproject = root / PYPROJECT
    if not pyproject.is_file():
        return
    try:
        found = _tool_table(_parse(pyproject))
    except SettingsError:
        return  # the other file holds the settings, so this one may be as it likes
    if found is not None:
        raise SettingsError(
            f"{root / OWN_FILE} and [tool.{TABLE}] in {pyproject} both hold settings: move them into one of the two"
        )


def _parse(file: Path) -> dict[str, Any]:
    # Before 3.11 the same library goes by the name tomli.
    toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document: dict[str, Any] = toml.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file}: can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: is not UTF-8 at byte {error.start}, as TOML has to be") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{file}: is no valid TOML: {error}") from None
    return document


def _tool_table(document: dict[str, Any]) -> dict[str, Any] | None:
    tool = document.get("tool")
    table = tool.get(TABLE) if isinstance(tool, dict) else None
    return table if isinstance(table, dict) else None


def _strings(value: object, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise SettingsError(f'{place}: has to be a list of strings, as in ["one", "two"], not {_shown(value)}')
    return tuple(value)


def _some_strings(value: object, place: str) -> tuple[str, ...]:
    strings = _strings(value, place)
    if not strings:
        raise SettingsError(f"{place}: is empty; leave the key out to mean all")
    return strings


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(f"{place}: has to be true or false, not {_shown(value)}")
    return value


def _count(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingsError(f"{place}: has to be a whole number from 1, not {_shown(value)}")
    return value


def _choice(words: tuple[str, ...]) -> Callable[[object, str], str]:
    def read(value: object, place: str) -> str:
        if not isinstance(value, str) or value not in words:
            hint = did_you_mean(value, list(words)) if isinstance(value, str) else ""
            raise SettingsError(f"{place}: has to be one of {', '.join(words)}, not {_shown(value)}{hint}")
        return value

    return read


def _path(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{place}: has to be the path of a file, not {_shown(value)}")
    return value


_PER_PATH_KEYS: dict[str, Callable[[object, str], Any]] = {
    "paths": _some_strings,
    "ignore": _strings,
    "select": _some_strings,
    "level": _choice(LEVELS),
}


def _overrides(value: object, place: str) -> tuple[PathOverride, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise SettingsError(f"{place}: has to be written as [[{place.rsplit(': ', 1)[1]}]] tables")
    overrides = []
    for number, table in enumerate(value, 1):
        here = f"{place}[{number}]"
        fields = _fields(table, _PER_PATH_KEYS, here + ".")
        if "paths" not in fields:
            raise SettingsError(f'{here}: needs the key paths, as in paths = ["examples/"]')
        overrides.append(PathOverride(**fields))
    return tuple(overrides)


_KEYS: dict[str, Callable[[object, str], Any]] = {
    "select": _some_strings,
    "ignore": _strings,
    "exclude": _strings,
    "tests": _flag,
    "level": _choice(LEVELS),
    "fail-on": _choice(FAIL_ON),
    "format": _choice(FORMATS),
    "jobs": _count,
    "probe": _choice(PROBES),
    "baseline": _path,
    "per-path": _overrides,
}


def _from_table(table: dict[str, Any], file: Path) -> Settings:
    fields = _fields(table, _KEYS, f"{file}: ")
    if "baseline" in fields:
        fields["baseline"] = Path(os.path.abspath(file)).parent / fields["baseline"]
    return Settings(**fields, source=file)


def _fields(table: dict[str, Any], keys: Mapping[str, Callable[[object, str], Any]], place: str) -> dict[str, Any]:
    fields = {}
    for key, value in table.items():
        if key not in keys:
            hint = did_you_mean(key, list(keys)) or f"; the keys are {', '.join(keys)}"
            raise SettingsError(f"{place}{key}: there is no such key{hint}")
        fields[key.replace("-", "_")] = keys[key](value, place + key)
    return fields


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = re.sub(r"\s+", " ", repr(value))
    return text if len(text) <= 60 else text[:57] + "..."


@functools.cache
def _matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns).match_file
