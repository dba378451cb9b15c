from __future__ import annotations

from pathlib import Path

import pytest

from migrate.settings import PathOverride, Settings, SettingsError, load_settings, settings_file

KNOWN = {"TN101": "device-string", "TN102": "cuda-method", "TN111": "rng", "TN301": "compile-backend"}


def project(folder: Path, body: str, name: str = "neuron-migrate.toml") -> Path:
    (folder / name).write_text(body, encoding="utf-8")
    return folder


def test_defaults_without_a_file(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    assert settings == Settings()
    assert (settings.level, settings.fail_on, settings.format, settings.probe) == ("review", "error", "text", "guarded")


ALL_KEYS = """
select = ["TN1", "compile-backend"]
ignore = ["TN102"]
exclude = ["legacy/", "*.gen.py"]
tests = true
level = "safe"
fail-on = "warning"
format = "json"
jobs = 2
probe = "plain"
baseline = "ci/baseline.json"
"""


@pytest.mark.parametrize(
    ("name", "head"),
    [("neuron-migrate.toml", ""), ("pyproject.toml", "[project]\nname = 'x'\n[tool.neuron-migrate]")],
    ids=["own file, keys at the top", "table in pyproject"],
)
def test_all_keys(tmp_path: Path, name: str, head: str) -> None:
    per_path = "[[per-path]]" if not head else "[[tool.neuron-migrate.per-path]]"
    body = f'{head}{ALL_KEYS}\n{per_path}\npaths = ["examples/"]\nignore = ["rng"]\nselect = ["TN1"]\nlevel = "offer"\n'
    assert load_settings(project(tmp_path, body, name)) == Settings(
        select=("TN1", "compile-backend"),
        ignore=("TN102",),
        exclude=("legacy/", "*.gen.py"),
        tests=True,
        level="safe",
        fail_on="warning",
        format="json",
        jobs=2,
        probe="plain",
        baseline=tmp_path / "ci/baseline.json",
        per_path=(PathOverride(paths=("examples/",), ignore=("rng",), select=("TN1",), level="offer"),),
        source=tmp_path / name,
    )


ERRORS = {
    "misspelt key": ("levle = 'safe'", ["levle", "did you mean 'level'"]),
    "underscore for hyphen": ("fail_on = 'all'", ["fail_on", "did you mean 'fail-on'"]),
    "unknown key with nothing close": ("zzz = 1", ["zzz", "the keys are", "exclude"]),
    "misspelt choice": ("level = 'reviw'", ["level", "safe, review, offer", "did you mean 'review'"]),
    "choice of the wrong type": ("level = 1", ["level", "safe, review, offer", "not 1"]),
    "string for a list": ("select = 'TN1'", ["select", "list of strings", "'TN1'"]),
    "list of numbers": ("ignore = [101]", ["ignore", "list of strings"]),
    "empty string in a list": ("exclude = ['']", ["exclude", "list of strings"]),
    "empty select would run nothing": ("select = []", ["select", "leave the key out"]),
    "string for a flag": ("tests = 'yes'", ["tests", "true or false"]),
    "flag for a number": ("jobs = true", ["jobs", "whole number", "not true"]),
    "no jobs": ("jobs = 0", ["jobs", "whole number"]),
    "number for a path": ("baseline = 1", ["baseline", "path of a file"]),
    "per-path as one table": ("[per-path]\npaths = ['a']", ["per-path", "[[per-path]]"]),
    "per-path without paths": ("[[per-path]]\nlevel = 'safe'", ["per-path[1]", "needs the key paths"]),
    "per-path with no path": ("[[per-path]]\npaths = []", ["per-path[1].paths", "empty"]),
    "misspelt key in the second per-path": (
        "[[per-path]]\npaths = ['a']\n[[per-path]]\npaths = ['b']\nignroe = []",
        ["per-path[2].ignroe", "did you mean 'ignore'"],
    ),
    "a key that per-path does not have": ("[[per-path]]\npaths = ['a']\njobs = 2", ["per-path[1].jobs", "no such key"]),
    "broken toml": ("jobs = 1\nlevel = oops\n", ["no valid TOML", "line 2"]),
    "table of pyproject in the own file": ("[tool.neuron-migrate]\nlevel = 'safe'", ["stand at the top"]),
}


@pytest.mark.parametrize(("body", "parts"), list(ERRORS.values()), ids=list(ERRORS))
def test_errors_name_the_file_the_key_and_the_remedy(tmp_path: Path, body: str, parts: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(project(tmp_path, body))
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "neuron-migrate.toml"))
    assert [part for part in parts if part not in message] == []


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "neuron-migrate.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(SettingsError, match="not UTF-8 at byte 5"):
        load_settings(tmp_path)


def test_two_files_with_settings_are_an_error(tmp_path: Path) -> None:
    project(tmp_path, "level = 'safe'")
    project(tmp_path, "[tool.neuron-migrate]\nlevel = 'offer'", "pyproject.toml")
    with pytest.raises(SettingsError, match="into one of the two"):
        load_settings(tmp_path)


@pytest.mark.parametrize("body", ["[project]\nname = 'x'\n", "broken = "], ids=["without our table", "broken"])
def test_pyproject_beside_the_own_file_is_not_ours(tmp_path: Path, body: str) -> None:
    project(project(tmp_path, "level = 'safe'"), body, "pyproject.toml")
    assert load_settings(tmp_path).level == "safe"


def test_config_option_takes_any_file(tmp_path: Path) -> None:
    project(tmp_path, "level = 'safe'")
    other = tmp_path / "ci.toml"
    other.write_text("level = 'offer'\nbaseline = 'b.json'")
    settings = load_settings(tmp_path / "elsewhere", other)
    assert (settings.level, settings.baseline) == ("offer", tmp_path / "b.json")


def test_config_option_that_names_no_settings(tmp_path: Path) -> None:
    project(tmp_path, "[project]\nname = 'x'", "pyproject.toml")
    with pytest.raises(SettingsError, match="no table"):
        load_settings(tmp_path, tmp_path / "pyproject.toml")
    with pytest.raises(SettingsError, match="can't be read: No such file"):
        load_settings(tmp_path, tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("name", "body", "found"),
    [
        ("neuron-migrate.toml", "", True),
        ("pyproject.toml", "[tool.neuron-migrate]", True),
        ("pyproject.toml", "[tool]\nneuron-migrate = {level = 'safe'}", True),
        ("pyproject.toml", "[project]\ndependencies = ['neuron-migrate']", False),
        ("pyproject.toml", "[tool.neuron-migrate]\nlevel = ", True),
        ("setup.cfg", "[tool.neuron-migrate]", False),
    ],
    ids=["own file", "table", "inline table", "a mere dependency", "broken, to be reported", "another file"],
)
def test_settings_file(tmp_path: Path, name: str, body: str, found: bool) -> None:
    assert settings_file(project(tmp_path, body, name)) == (tmp_path / name if found else None)


def test_command_line_wins_key_by_key() -> None:
    settings = Settings(level="safe", ignore=("TN102",), tests=True)
    merged = settings.merged({"level": "offer", "select": ["TN1"], "ignore": (), "jobs": None})
    assert (merged.level, merged.select, merged.ignore, merged.tests) == ("offer", ("TN1",), ("TN102",), True)


OVERRIDES = (
    PathOverride(paths=("examples/",), ignore=("TN102",), level="offer"),
    PathOverride(paths=("*_gpu.py", "!keep_gpu.py"), select=("TN3",), ignore=("rng",)),
    PathOverride(paths=("examples/last.py",), level="safe"),
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("train.py", ((), ("TN301",), "review")),
        ("examples/deep/a.py", ((), ("TN301", "TN102"), "offer")),
        ("src/a_gpu.py", (("TN3",), ("TN301", "rng"), "review")),
        ("src/keep_gpu.py", ((), ("TN301",), "review")),
        ("examples/a_gpu.py", (("TN3",), ("TN301", "TN102", "rng"), "offer")),
        ("examples/last.py", ((), ("TN301", "TN102"), "safe")),
    ],
    ids=["none matches", "folder", "file pattern", "negated pattern", "both match", "the later table wins"],
)
def test_per_path(path: str, expected: tuple[tuple[str, ...], tuple[str, ...], str]) -> None:
    found = Settings(ignore=("TN301",), per_path=OVERRIDES).for_path(path)
    assert (found.select, found.ignore, found.level) == expected
    assert found.per_path == ()


def test_command_line_wins_over_per_path_but_its_ignore_still_adds() -> None:
    settings = Settings(per_path=(PathOverride(paths=("a.py",), select=("TN3",), ignore=("TN102",), level="offer"),))
    found = settings.merged({"select": ("TN1",), "level": "safe"}).for_path("a.py")
    assert (found.select, found.ignore, found.level) == (("TN1",), ("TN102",), "safe")


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        ((), (), {"TN101", "TN102", "TN111", "TN301"}),
        (("TN1",), (), {"TN101", "TN102", "TN111"}),
        (("TN",), ("TN1",), {"TN301"}),
        (("device-string", "Rng"), (), {"TN101", "TN111"}),
        ((), ("tn101",), {"TN102", "TN111", "TN301"}),
        (("TN1",), ("cuda-method",), {"TN101", "TN111"}),
        (("TN101",), ("TN1",), {"TN101"}),
        (("TN1",), ("TN1",), set()),
        ((), ("TN",), set()),
        (("T",), (), set()),
        (("TN10", "TN111"), ("TN11",), {"TN101", "TN102", "TN111"}),
    ],
    ids=[
        "all by default",
        "family",
        "ignored family",
        "names, in any case",
        "code in small letters",
        "ignored name in a family",
        "the longer selector wins",
        "ignore wins between equals",
        "everything ignored",
        "part of the letters is no prefix",
        "longer select against longer ignore",
    ],
)
def test_enables(select: tuple[str, ...], ignore: tuple[str, ...], expected: set[str]) -> None:
    settings = Settings(select=select, ignore=ignore)
    assert {code for code, name in KNOWN.items() if settings.enables(code, name)} == expected


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        (Settings(select=("TN9",)), ["--select", "'TN9'"]),
        (Settings(ignore=("device-strng",), source=Path("p.toml")), ["p.toml: ignore", "did you mean 'device-string'"]),
        (
            Settings(per_path=(PathOverride(("a",), ignore=("TN11x",)),), source=Path("p.toml")),
            ["per-path[1].ignore", "TN111"],
        ),
    ],
    ids=["family without rules", "misspelt name", "per path"],
)
def test_selectors_that_name_no_rule(settings: Settings, parts: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        settings.check_rules(KNOWN)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_selectors_that_name_rules() -> None:
    Settings(select=("TN", "rng"), ignore=("tn301",)).check_rules(KNOWN)
