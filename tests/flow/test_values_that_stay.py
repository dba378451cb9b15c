"""Values that change together with their tests, in one file and over several, and indexes that stay."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import pytest

from harness import check_invariants, migrate, run_tree
from migrate.report.json import document

HEAD = "import torch\n"

SEVERAL = {
    "a default and a call": 'def run(x, dev="cuda"):\n    if dev == "cuda":\n        y = x * 2\n    elif dev == "mps":\n        y = x + 1\n    else:\n        y = x\n    return y.to(dev)\n\n\nrun(torch.zeros(1), "cuda")',
    "a match": 'def run(dev, x):\n    match dev:\n        case "cuda":\n            y = x * 2\n        case "cpu" | "mps":\n            y = x\n    return y.to(dev)\n\n\nrun("cuda", torch.zeros(1))',
    "a variable": 'dev = "cuda"\nif dev == "cuda":\n    print(1)\nelif dev == "xpu":\n    print(2)\nx = torch.ones(1, device=dev)',
    "a test beside the chain": 'def run(x, dev="cuda"):\n    if "cuda" in dev:\n        print(1)\n    if dev == "cuda":\n        y = x\n    elif dev == "mps":\n        y = x + 1\n    return y.to(dev)',
    "an attribute of an own class": 'class A:\n    def __init__(self):\n        self.device = "cuda"\n\n    def f(self):\n        if self.device == "cuda":\n            return 1\n        elif self.device == "mps":\n            return 2\n        return torch.ones(1, device=self.device)',
    "a cut": 'def run(x, dev="cuda"):\n    if dev[:4] == "cuda":\n        print(1)\n    if dev == "cuda":\n        y = x\n    elif dev == "mps":\n        y = x + 1\n    return y.to(dev)',
}


@pytest.mark.parametrize("code", SEVERAL.values(), ids=SEVERAL)
def test_values_of_a_chain_for_several_accelerators_stay(code: str) -> None:
    text = f"{HEAD}\n\n{code}\n"
    outcome = migrate(text)
    assert outcome.text == text
    values = [f for f in outcome.findings if f["severity"] == "error"]
    assert values and {(f["rule"], f["safety"]) for f in values} == {("TN124", "manual")}
    assert all("needs an entry for" in f["message"] for f in values)


def test_device_positions_beside_such_a_chain_change() -> None:
    code = 'def run(x, dev="cuda"):\n    if dev == "cuda":\n        y = x\n    elif dev == "mps":\n        y = x + 1\n    return y.to(dev), torch.ones(1, device="cuda")'
    text = f"{HEAD}\n\n{code}\n"
    assert migrate(text).text == text.replace('device="cuda"', 'device="neuron"')


def test_a_chain_over_a_tensors_device_leaves_other_values_alone() -> None:
    code = 'def f(x, args):\n    if x.device.type == "cuda":\n        print(1)\n    elif x.device.type == "mps":\n        print(2)\n    return x.to(args.device)\n\n\np.add_argument("--device", default="cuda")'
    assert 'default="neuron"' in migrate(f"{HEAD}{code}\n").text


KEPT_INDEX = {
    "a key": 'caches = {torch.device("cuda:0"): 1}',
    "an element of what is looked into": 'def f(x):\n    return x.device in [torch.device("cuda:0"), torch.device("cpu")]',
    "an element that is looked for": 'def f(x):\n    return [torch.device("cuda:0")].index(x.device)',
    "an element of a named list": 'def f(x):\n    known = [torch.device("cuda:0")]\n    return known.index(x.device)',
    "an expected value": 'def f(x):\n    assert_equal(x.device, torch.device("cuda:0"))',
    "an expected text": 'def f(x):\n    check(str(x.device), torch.device("cuda:0"))',
    "a subscript": 'usage[torch.device("cuda", 0)] += 1',
    "a variable that is a subscript": 'd = torch.device("cuda:0")\nusage[d] = 1',
}


@pytest.mark.parametrize("code", KEPT_INDEX.values(), ids=KEPT_INDEX)
def test_the_index_stays(code: str) -> None:
    text = f"{HEAD}{code}\n"
    assert migrate(text).text == text.replace("cuda", "neuron")


def test_the_index_goes_elsewhere() -> None:
    code = 'd = torch.device("cuda:0")\nx = torch.ones(1, device=d)\nn = "cuda" in str(d)'
    assert 'torch.device("neuron")' in migrate(f"{HEAD}{code}\n").text


GATHERED = {
    "each of a list, mapped": ('m = map(torch.device, ["cuda:0", "cpu"])', 'm = map(torch.device, ["neuron", "cpu"])'),
    "each of a tuple": (
        'ds = [torch.device(d) for d in ("cuda", "cpu")]',
        'ds = [torch.device(d) for d in ("neuron", "cpu")]',
    ),
}


@pytest.mark.parametrize(("before", "after"), GATHERED.values(), ids=GATHERED)
def test_gathered(before: str, after: str) -> None:
    assert migrate(f"{HEAD}{before}\n").text == f"{HEAD}{after}\n"


def test_gathered_beside_other_texts_is_reported() -> None:
    code = 'def f(i):\n    d = "cuda:0"\n    g = ":".join(["cuda", str(i)])\n    m = "cu" + "da"\n    return [torch.device(z) for z in (d, g, m)]'
    found = [f for f in migrate(f"{HEAD}{code}\n").findings if f["line"] == 3]
    assert [(f["rule"], f["safety"]) for f in found] == [("TN101", "manual")]


PACKED = {
    "made by torch": "def f(xs):\n    ps = torch.nn.utils.rnn.pack_sequence(xs)\n    return ps.is_cuda",
    "annotated": "from torch.nn.utils.rnn import PackedSequence\n\n\ndef f(ps: PackedSequence):\n    return ps.is_cuda",
}


@pytest.mark.parametrize("code", PACKED.values(), ids=PACKED)
def test_a_packed_sequence_has_its_device_in_data(code: str) -> None:
    text = f"{HEAD}{code}\n"
    assert migrate(text).text == text.replace("ps.is_cuda", 'ps.data.device.type == "neuron"')


# several files -------------------------------------------------------------------------------------------------------


def tree(files: dict[str, str], level: str) -> tuple[dict[str, str], dict[str, list[dict[str, Any]]]]:
    before = {name: text.encode() for name, text in files.items()}
    result, after = run_tree(before, level)
    report = document(result)
    check_invariants(result, report, before, after, level, {})
    found = {file["path"]: file["findings"] for file in report["files"]}
    return {name: data.decode() for name, data in after.items()}, found


def test_a_test_of_an_imported_value_is_no_surer_than_the_value() -> None:
    files = {
        "a.py": 'import torch\nDEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n',
        "b.py": 'import torch\nfrom a import DEVICE\nx = torch.zeros(1, device=DEVICE)\nif DEVICE == "cuda":\n    print(1)\n',
    }
    assert tree(files, "safe")[0] == files
    after = tree(files, "review")[0]
    assert '"neuron" if' in after["a.py"] and 'DEVICE == "neuron"' in after["b.py"]


def test_an_answer_that_is_imported_is_for_review() -> None:
    files = {"a.py": "import torch\nHAS = torch.cuda.is_available()\n", "b.py": "from a import HAS\nprint(HAS)\n"}
    assert tree(files, "safe")[0] == files
    assert "torch.neuron" in tree(files, "review")[0]["a.py"]


def test_an_index_that_others_may_read_stays() -> None:
    files = {
        "cfg.py": 'import torch\nDEVICE = "cuda:0"\nDEV = torch.device("cuda:0")\n\n\nclass Cfg:\n    device = "cuda:0"\n\n\ndef dev():\n    return torch.device("cuda:0")\n',
        "main.py": 'from cfg import DEVICE, DEV, Cfg, dev\ni = int(DEVICE.split(":")[1])\n',
    }
    after, found = tree(files, "review")
    assert after["cfg.py"] == files["cfg.py"].replace("cuda", "neuron")
    assert "main.py" in found["cfg.py"][0]["evidence"][-1]["text"]
    alone = tree({"cfg.py": files["cfg.py"]}, "review")[0]["cfg.py"]
    assert 'DEV = torch.device("neuron")' in alone


@pytest.mark.parametrize(
    "use",
    [
        'print("cuda" in NAME)',
        'print(NAME == "cuda")',
        'print(NAME.startswith("cuda"))',
        'print(C.NAME.startswith("cuda"))',
        'TABLE = {"cuda": 1, "cpu": 0}\nprint(TABLE[NAME])',
        'TABLE = {"cuda": 1, "cpu": 0}\nprint(TABLE[C.NAME])',
    ],
)
def test_a_test_of_another_files_value_is_made_by_hand(use: str) -> None:
    main = f"import torch\nimport cfg as C\nfrom cfg import NAME\n\nwith torch.autocast(NAME, torch.bfloat16):\n    pass\n{use}\n"
    files = {"cfg.py": 'NAME = "cuda"\n', "main.py": main}
    after, found = tree(files, "review")
    assert after == files
    tests = [f for f in found["main.py"] if f["rule"] == "TN104"]
    assert [(f["safety"], f["severity"]) for f in tests] == [("manual", "warning")]
    assert "cfg.NAME" in tests[0]["message"]


def test_the_backend_is_tested_no_surer_than_it_is_given() -> None:
    text = 'import argparse\n\nimport torch.distributed as dist\n\np = argparse.ArgumentParser()\np.add_argument("--backend", default="nccl")\nargs = p.parse_args()\ndist.init_process_group(args.backend)\nok = dist.get_backend() == "nccl"\n'
    assert migrate(text, "safe").text == text
    assert migrate(text).text.count('"neuron"') == 2


_CHOICE = '    if {0}:\n        d = torch.device("cuda")\n    elif a.mps:\n        d = torch.device("mps")\n    else:\n        d = torch.device("cpu")\n    return d'
PROBES = {
    "a variable": "    use = torch.cuda.is_available()\n" + _CHOICE.format("use"),
    "a variable with an option": "    use = a.cuda and torch.cuda.is_available()\n" + _CHOICE.format("use"),
    "an option that is set anew": "    a.cuda = a.cuda and torch.cuda.is_available()\n" + _CHOICE.format("a.cuda"),
    "a part of the test": "    use = torch.cuda.is_available()\n" + _CHOICE.format("use and a.x"),
    "a variable that is used elsewhere too": "    use = torch.cuda.is_available()\n    print(use)\n" + _CHOICE.format("use"),
    "a count": "    use = torch.cuda.device_count() > 0\n" + _CHOICE.format("use"),
}


@pytest.mark.parametrize("code", PROBES.values(), ids=PROBES)
def test_a_probe_stays_with_the_choice_between_accelerators_that_asks_it(code: str) -> None:
    text = f"{HEAD}\n\ndef f(a):\n{code}\n"
    outcome = migrate(text)
    assert outcome.text == text
    assert all(f["safety"] == "manual" for f in outcome.findings if f["status"] == "open")


def test_a_probe_of_a_plain_choice_changes() -> None:
    code = '    use = torch.cuda.is_available()\n    if use:\n        d = torch.device("cuda")\n    else:\n        d = torch.device("cpu")\n    return d'
    text = migrate(f"{HEAD}\n\ndef f(a):\n{code}\n").text
    assert "torch.neuron.is_available()" in text and 'torch.device("neuron")' in text


def test_a_test_of_what_another_file_makes() -> None:
    made = "class Kind(str):\n    pass\n\n\ndef pick():\n    return Kind('cuda')\n"
    use = "from lib import pick\n\n\ndef f(x):\n    {name} = pick()\n    return x.to({name}.value), {name} == 'cuda'\n"
    files = {"lib.py": made, "use.py": use.format(name="kind")}
    after, found = tree(files, "review")
    assert after["use.py"] == files["use.py"]
    assert [(f["rule"], f["safety"]) for f in found["use.py"]] == [("TN104", "manual")]
    files["use.py"] = use.format(name="device")
    assert "== 'neuron'" in tree(files, "review")[0]["use.py"]
