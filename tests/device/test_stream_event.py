"""TN112: streams and events."""

from __future__ import annotations

import pytest

from harness import migrate
from transforms.tables.cuda_streams import STREAM_API, STREAM_MISSING

HEAD = "import torch\n\n\n"


def inside(*lines: str) -> str:
    """A function with some lines."""
    return HEAD + "def f(x, s, n: int):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("row", STREAM_API, ids=lambda r: r.name)
def test_functions(row) -> None:
    assert migrate(inside(f"return {row.name}(s)")).text == inside(f"return {row.new}(s)")


@pytest.mark.parametrize("row", STREAM_MISSING, ids=lambda r: r.name)
def test_missing(row) -> None:
    assert migrate(inside(f"return {row.name}(s)")).one("TN112")["severity"] == "error"


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param("torch.cuda.Stream()", "torch.neuron.Stream()", id="stream"),
        pytest.param("torch.cuda.Stream(n)", "torch.neuron.Stream(device=n)", id="position-becomes-keyword"),
        pytest.param("torch.cuda.Stream(n, -1)", "torch.neuron.Stream(device=n, priority=-1)", id="two-positions"),
        pytest.param("torch.cuda.Stream(priority=-1)", "torch.neuron.Stream(priority=-1)", id="keyword-stays"),
        pytest.param("torch.cuda.Event(True)", "torch.neuron.Event(enable_timing=True)", id="event-position"),
        pytest.param("torch.cuda.Event(interprocess=False)", "torch.neuron.Event()", id="default-that-neuron-lacks"),
        pytest.param("[torch.cuda.Event() for _ in x]", "[torch.neuron.Event() for _ in x]", id="comprehension"),
        pytest.param("partial(torch.cuda.stream, s)", "partial(torch.neuron.stream, s)", id="function-as-a-value"),
        pytest.param("isinstance(s, torch.cuda.Stream)", "isinstance(s, torch.Stream)", id="isinstance"),
        pytest.param(
            "isinstance(s, (int, torch.cuda.Event))", "isinstance(s, (int, torch.Event))", id="isinstance-tuple"
        ),
        pytest.param("x or torch.cuda.Stream", "x or torch.neuron.Stream", id="class-as-a-factory"),
    ],
)
def test_classes(before: str, after: str) -> None:
    outcome = migrate(inside(f"return {before}"))
    assert outcome.text == inside(f"return {after}")
    assert outcome.one("TN112")["safety"] == "review"


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param("def g(s: torch.cuda.Stream): ...", "def g(s: torch.Stream): ...", id="parameter"),
        pytest.param("def g() -> torch.cuda.Event | None: ...", "def g() -> torch.Event | None: ...", id="result"),
        pytest.param('def g(s: "torch.cuda.Stream"): ...', 'def g(s: "torch.Stream"): ...', id="text"),
        pytest.param("x: list[torch.cuda.Event] = []", "x: list[torch.Event] = []", id="variable"),
        pytest.param("Lane = torch.cuda.Stream | None", "Lane = torch.Stream | None", id="union-alias"),
    ],
)
def test_types(before: str, after: str) -> None:
    assert migrate(HEAD + before + "\n").text == HEAD + after + "\n"


@pytest.mark.parametrize(
    "kept, use, types",
    [
        pytest.param("(torch.cuda.Stream, torch.cuda.Event)", "isinstance(x, KEPT)", True, id="tuple-of-isinstance"),
        pytest.param("torch.cuda.Stream", "isinstance(x, KEPT)", True, id="type-in-a-variable"),
        pytest.param("torch.cuda.Stream", "KEPT()", False, id="called"),
        pytest.param("(torch.cuda.Stream, torch.cuda.Event)", "[k() for k in KEPT]", False, id="called-one-by-one"),
        pytest.param("torch.cuda.Stream", "None", False, id="not-used-here"),
    ],
)
def test_types_in_variables(kept: str, use: str, types: bool) -> None:
    text = migrate(f"{HEAD}KEPT = {kept}\n\n\ndef g(x):\n    return {use}\n").text
    assert f"KEPT = {kept.replace('torch.cuda', 'torch' if types else 'torch.neuron')}\n" in text


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("KEPT = {}\n\n\ndef g(x):\n    return isinstance(x, KEPT) or KEPT()", id="type-and-factory"),
        pytest.param(
            "class A:\n    KEPT = {}\n\n    def g(self, x):\n        return isinstance(x, self.KEPT)", id="class"
        ),
        pytest.param("class A:\n    KEPT = ({},)\n\n\ndef g(x):\n    return isinstance(x, A.KEPT)", id="tuple"),
        pytest.param("def g(s, x):\n    s.kept = {}\n    return isinstance(x, s.kept)", id="attribute"),
    ],
)
def test_a_class_that_is_read_as_a_type_too_is_reported(body: str) -> None:
    text = HEAD + body.format("torch.cuda.Stream") + "\n"
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.one("TN112")["severity"] == "error"


def test_a_class_that_is_only_called_is_a_factory() -> None:
    body = "class A:\n    KEPT = {}\n\n    def g(self):\n        return self.KEPT()\n"
    assert migrate(HEAD + body.format("torch.cuda.Stream")).text == HEAD + body.format("torch.neuron.Stream")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("class Lane(torch.cuda.Stream): ...", id="base-class"),
        pytest.param("return torch.cuda.Event(interprocess=True)", id="argument-that-neuron-lacks"),
        pytest.param("return torch.cuda.Stream(**x)", id="unpacked"),
        pytest.param("return torch.cuda.Stream.priority_range()", id="method-of-the-class"),
        pytest.param("torch.cuda.current_stream = x", id="replaced"),
        pytest.param("x.record_stream(s); s.wait_stream(s)", id="methods-that-neuron-has"),
        pytest.param("class Stream: ...", id="own-class"),
        pytest.param("return torch.neuron.Stream(device=n)", id="already-migrated"),
        pytest.param("return torch.Stream(device=n)", id="any-device"),
        pytest.param("return s.elapsed_time(x)", id="events-of-unknown-origin"),
    ],
)
def test_left_alone(line: str) -> None:
    assert migrate(inside(line)).text == inside(line)


def test_a_class_pattern_names_the_type() -> None:
    source = HEAD + "def f(x):\n    match x:\n        case torch.cuda.Event():\n            return 1\n"
    assert migrate(source).text == source.replace("torch.cuda.Event", "torch.Event")


def test_pointers_are_errors_where_the_stream_is_known() -> None:
    outcome = migrate(inside("return torch.cuda.current_stream().cuda_stream, s.cuda_stream"))
    assert [f["severity"] for f in outcome.findings if f["safety"] == "manual"] == ["error", "warning"]


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param('"torch.cuda.Stream | None"', '"torch.Stream | None"', id="a-union"),
        pytest.param('"Optional[torch.cuda.streams.Event]"', '"Optional[torch.Event]"', id="optional"),
        pytest.param(
            '"dict[torch.cuda.Event, torch.cuda.Stream]"', '"dict[torch.Event, torch.Stream]"', id="two-of-them"
        ),
    ],
)
def test_types_written_as_text(before: str, after: str) -> None:
    source = HEAD + f"def f(x: {before}):\n    return x\n"
    assert migrate(source).text == source.replace(before, after)
    cast = f"import typing\nimport torch\n\n\ndef f(x):\n    return typing.cast({before}, x)\n"
    assert migrate(cast).text == cast.replace(before, after)


def test_a_text_that_is_no_type_stays() -> None:
    source = HEAD + 'def f(x):\n    return x.make("torch.cuda.Stream", kind="torch.cuda.Event")\n'
    assert migrate(source).text == source


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("return s.cuda_stream if hasattr(s, 'cuda_stream') else 0", id="conditional"),
        pytest.param("return hasattr(s, 'cuda_stream') and s.cuda_stream", id="and"),
        pytest.param("if hasattr(s, 'cuda_stream'): x(s.cuda_stream)", id="if"),
    ],
)
def test_a_pointer_that_is_asked_for_first_is_kept(line: str) -> None:
    assert migrate(inside(line)).one("TN112")["reason"] == "asked for before it is read"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("return s.cuda_stream if hasattr(x, 'cuda_stream') else 0", id="of-another"),
        pytest.param("return 0 if hasattr(s, 'cuda_stream') else s.cuda_stream", id="where-it-is-missing"),
        pytest.param("return s.cuda_stream if hasattr(s, 'wait') else 0", id="another-name"),
    ],
)
def test_a_pointer_that_is_not_asked_for_is_reported(line: str) -> None:
    assert migrate(inside(line)).one("TN112")["severity"] == "warning"


EVENTS = ("a = torch.cuda.Event(enable_timing=True)", "b = torch.cuda.Event(enable_timing=True)")
KEPT = tuple(e.replace("cuda", "neuron") for e in EVENTS)


def clocked(*lines: str) -> str:
    """A function that measures with the clock of the host."""
    return "import time\n" + inside(*lines)


@pytest.mark.parametrize(
    "lines, expected",
    [
        pytest.param(
            (*EVENTS, "a.record()", "x()", "b.record()", "b.synchronize()", "return a.elapsed_time(b)"),
            (
                "torch.neuron.synchronize()",
                "a = time.perf_counter()",
                "x()",
                "torch.neuron.synchronize()",
                "b = time.perf_counter()",
                "return (b - a) * 1000.0",
            ),
            id="plain",
        ),
        pytest.param(
            (*EVENTS, "a.record()", "x()", "b.record()", "x()", "b.synchronize()", "return a.elapsed_time(b) / 1e3"),
            (
                "torch.neuron.synchronize()",
                "a = time.perf_counter()",
                "x()",
                "torch.neuron.synchronize()",
                "b = time.perf_counter()",
                "x()",
                "torch.neuron.synchronize()",
                "return b - a",
            ),
            id="seconds-and-a-wait-later",
        ),
        pytest.param(
            (*EVENTS, "if n:", "    a.record()", "x()", "b.record()", "y = n * a.elapsed_time(b)"),
            (
                "if n:",
                "    torch.neuron.synchronize()",
                "    a = time.perf_counter()",
                "x()",
                "torch.neuron.synchronize()",
                "b = time.perf_counter()",
                "y = n * ((b - a) * 1000.0)",
            ),
            id="under-a-condition",
        ),
    ],
)
def test_local_timing(lines: tuple[str, ...], expected: tuple[str, ...]) -> None:
    outcome = migrate(inside(*lines))
    assert outcome.text == clocked(*expected)
    assert not [f for f in outcome.findings if f["after"]]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            (*EVENTS, "a.record()", "b.record()", "x.append(b)", "return a.elapsed_time(b)"), id="an-event-is-handed-on"
        ),
        pytest.param((*EVENTS, "a.record(s)", "b.record()", "return a.elapsed_time(b)"), id="recorded-on-a-stream"),
        pytest.param(
            (*EVENTS, "s.wait_event(a)", "a.record()", "b.record()", "return a.elapsed_time(b)"), id="waited-for"
        ),
        pytest.param((*EVENTS, "a.record()", "return a.elapsed_time(b)"), id="never-recorded"),
        pytest.param((*EVENTS, "a.record()", "b.record()", "return a.query() or a.elapsed_time(b)"), id="asked-for"),
        pytest.param((EVENTS[0], "a.record()", "s.record()", "return a.elapsed_time(s)"), id="one-from-elsewhere"),
        pytest.param(
            (*EVENTS, "time = n", "a.record()", "b.record()", "return a.elapsed_time(b) + time"), id="time-is-taken"
        ),
        pytest.param((*EVENTS, "a.record()", "b.record()", "return lambda: a.elapsed_time(b)"), id="read-elsewhere"),
    ],
)
def test_timing_that_is_not_local_keeps_its_events_and_is_reported(lines: tuple[str, ...]) -> None:
    outcome = migrate(inside(*lines))
    assert outcome.text == inside(*lines).replace("torch.cuda.Event", "torch.neuron.Event")
    assert [f["severity"] for f in outcome.findings if f["safety"] == "manual"] == ["warning"]


def test_imported_event() -> None:
    source = (
        "import time\nfrom torch.cuda import Event\n\n\ndef f():\n    e = Event()\n    e.record()\n"
        "    return time.time()\n"
    )
    expected = (
        "import time\nimport torch\n\n\ndef f():\n    e = torch.neuron.Event()\n    e.record()\n"
        "    return time.time()\n"
    )
    assert migrate(source).text == expected


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("torch.cuda.current_stream().wait_event(s)", id="waited for by a stream"),
        pytest.param("x.append(m)", id="kept"),
        pytest.param("e.query()", id="asked"),
    ],
)
def test_events_that_are_read_against_each_other_change_together_or_not_at_all(other: str) -> None:
    """One event of three has another use: no clock takes the place of the other two."""
    before = (
        "import torch\n\n\ndef f(g, x):\n    s = torch.cuda.Event(enable_timing=True)\n"
        "    m = torch.cuda.Event(enable_timing=True)\n    e = torch.cuda.Event(enable_timing=True)\n"
        f"    s.record(); g(); m.record(); g(); e.record()\n    {other}\n    torch.cuda.synchronize()\n"
        "    return s.elapsed_time(m), m.elapsed_time(e)\n"
    )
    outcome = migrate(before)
    assert outcome.text == before.replace("cuda", "neuron")
    assert [f["line"] for f in outcome.findings if f["severity"] == "warning"] == [11, 11]
