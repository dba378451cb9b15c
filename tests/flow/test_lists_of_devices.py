"""Lists of devices that are put together: a test and the device that it lets in change together, or neither."""

from __future__ import annotations

import pytest

from harness import migrate

OLD = "torch.cuda.is_available()"
NEW = 'hasattr(torch, "neuron") and torch.neuron.is_available()'
USED = "for d in found:\n    torch.zeros(1, device=d)\n"
KEPT = "print(len(found))\n"


def turned(text: str) -> str:
    """What is expected where all of it changes."""
    return text.replace(f"* {OLD}", f"* ({NEW})").replace(OLD, NEW).replace('"cuda"', '"neuron"')


BOTH = [
    pytest.param(f'found = ["cpu"] + (["cuda"] if {OLD} else [])\n', id="a-list-and-a-choice"),
    pytest.param(f'found = (["cuda"] if {OLD} else []) + ["cpu"]\n', id="a-choice-and-a-list"),
    pytest.param(f'found = ("cpu",) + (("cuda",) if {OLD} else ())\n', id="tuples"),
    pytest.param(f'found = ["cpu"] + ["cuda"] * {OLD}\n', id="as-often-as-there-is-one"),
    pytest.param(f'found = ["cpu"]\nif {OLD}:\n    found += ["cuda"]\n', id="added-in-place"),
    pytest.param(f'found = ["cpu"]\nif {OLD}:\n    found.append("cuda")\n', id="appended"),
    pytest.param(f'found = ["cpu"]\nif {OLD}:\n    found.extend(["cuda"])\n', id="extended"),
    pytest.param(f'found = ["cpu"]\nif {OLD}:\n    found.insert(0, "cuda")\n', id="inserted"),
    pytest.param(f'found = {{"cpu"}}\nif {OLD}:\n    found.add("cuda")\n', id="a-set"),
]


@pytest.mark.parametrize("use", [pytest.param(USED, id="used"), pytest.param(KEPT, id="used-in-another-file")])
@pytest.mark.parametrize("lines", BOTH)
def test_the_device_changes_with_its_test(lines: str, use: str) -> None:
    text = f"import torch\n\n{lines}{use}"
    outcome = migrate(text)
    assert outcome.text == turned(text)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(f'tags = ["linux"]\nif {OLD}:\n    tags.append("cuda")\n', id="beside-other-texts"),
        pytest.param(f'tags = ["linux"]\nif {OLD}:\n    tags += ["cuda"]\n', id="added-to-other-texts"),
        pytest.param(f'x = ["fast"] + (["cuda"] if {OLD} else ["slow"])\n', id="no-cpu"),
        pytest.param('x = ["cpu"]\nif FAST:\n    x.append("cuda")\n', id="another-test"),
        pytest.param(f'x = ["cpu"]\nif not {OLD}:\n    x.append("cuda")\n', id="the-test-says-no"),
        pytest.param(f'x = "built for " + ("cuda" if {OLD} else "hosts")\n', id="texts-are-joined"),
    ],
)
def test_other_texts_stay(lines: str) -> None:
    outcome = migrate(f"import torch\n\n{lines}")
    assert '"cuda"' in outcome.text


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(f'{{"name": 1 if {OLD} else "cpu", "kind": "cuda"}}', id="value-of-another-key"),
        pytest.param(f'dict(name=1 if {OLD} else "cpu", kind="cuda")', id="another-argument"),
        pytest.param(f'["cuda", 1 if {OLD} else "cpu"]', id="another-element"),
    ],
)
def test_a_choice_beside_a_text_says_nothing_about_it(value: str) -> None:
    text = f"import torch\n\n\ndef f():\n    return {value}\n"
    outcome = migrate(text)
    assert outcome.text == text.replace(OLD, NEW)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(f'{{True: "cuda", False: "cpu"}}[{OLD}]', id="a-table-of-two"),
        pytest.param(f'{{"device": "cuda" if {OLD} else "cpu", "n": 1}}', id="the-choice-itself"),
        pytest.param(f'["cuda", "cpu"] if {OLD} else ["cpu"]', id="lists"),
    ],
)
def test_a_choice_of_the_text_itself_changes_it(value: str) -> None:
    text = f"import torch\n\n\ndef f():\n    return {value}\n"
    assert migrate(text).text == turned(text)
