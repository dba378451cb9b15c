"""Make the pictures of the guides from the program itself: `python docs/pictures/make.py [FOLDER]`.

Each picture is the screen of a real session in a pseudo-terminal, on a copy of `fixtures/repos/gpt`, drawn by rich.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
sys.path.insert(0, str(CHECKOUT / "tests" / "review"))

from pty_terminal import Session  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.text import Text  # noqa: E402

COLUMNS, LINES = 90, 26
_FRAME = "\x1b[?25l\x1b[H"
# What rich draws by default loads a font from the network; a picture stands on its own.
_FONT_FACE = re.compile(r"@font-face \{\{.*?\}\}", re.S)


def screen(session: Session) -> str:
    """The last whole screen that a review drew, with its colours."""
    frame = session.transcript.rpartition(_FRAME)[2]
    return frame.replace("\x1b[K", "").replace("\x1b[J", "").replace("\r\n", "\n")


def picture(ansi: str, title: str, file: Path) -> None:
    """Draw some terminal output as SVG."""
    from rich._export_format import CONSOLE_SVG_FORMAT

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="standard")
    for line in ansi.rstrip("\n").split("\n"):
        console.print(Text.from_ansi(line), no_wrap=True, overflow="crop")
    code = _FONT_FACE.sub("", CONSOLE_SVG_FORMAT).replace("Fira Code", "ui-monospace, Menlo, Consolas")
    svg = console.export_svg(title=title, code_format=code, unique_id=file.stem)
    file.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


def review(repo: Path, folder: Path) -> None:
    """Pictures of the review."""
    title = "neuron-migrate review ."
    with Session(repo, "review", ".", columns=COLUMNS, lines=LINES) as session:
        session.expect("file 1/")
        session.press("/torch.compile\\(\r", "torch.compile(model")
        picture(screen(session), title, folder / "review.svg")
        session.press("v", "Evidence")
        picture(screen(session), title, folder / "review-evidence.svg")
        session.press("q", "torch.compile(model")
        _to_one_without_a_fix(session)
        picture(screen(session), title, folder / "review-by-hand.svg")
        session.press("[", "fix 1/")
        session.press("l", "undecided in")
        picture(screen(session), title, folder / "review-level.svg")
        session.press("q", "fix 1/")
        session.press("?", "Keys")
        picture(screen(session), title, folder / "review-keys.svg")
        session.press("q", "fix 1/")
        session.press("/manual_seed_all\\(\r", "manual_seed_all(")  # from here on three changes follow each other
        session.press("y", "accepted")
        session.press("n", "rejected")
        session.press("y", "accepted")
        session.send("q")
        session.end()
    with Session(repo, "review", ".", columns=COLUMNS, lines=LINES) as session:
        session.expect("waiting, w writes them")
        picture(screen(session), title, folder / "review-resumed.svg")


def _to_one_without_a_fix(session: Session) -> None:
    for _ in range(50):
        if "x done" in session.screen.text:
            return
        before = session.screen.text
        session.send("j")
        session.until(lambda: session.screen.text != before, "the next finding")  # noqa: B023
        session.expect("q quit")
    raise SystemExit("no finding without a fix is left in the fixture: choose another picture")


def check(repo: Path, folder: Path) -> None:
    """A picture of the report."""
    with Session(repo, "check", ".", columns=COLUMNS, lines=200) as session:
        session.end()
        text = re.sub(r"\r\x1b\[K[^\n]*?(?=\r\x1b\[K)|\r\x1b\[K", "", session.transcript).replace("\r\n", "\n")
    picture(text, "neuron-migrate check .", folder / "check.svg")


def main() -> None:
    """Make all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        repo = Path(scratch) / "gpt"
        shutil.copytree(CHECKOUT / "fixtures" / "repos" / "gpt", repo)
        check(repo, folder)
        review(repo, folder)


if __name__ == "__main__":
    main()
