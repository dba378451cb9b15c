"""TN301 to TN306: what torch.compile becomes, and what is left alone."""

from __future__ import annotations

import pytest

from harness import migrate, run_tree

TORCH = "import torch\n\n"


def line(code: str, level: str = "review") -> str:
    """The last line of a file after a run."""
    return migrate(TORCH + code + "\n", level).text.rstrip("\n").splitlines()[-1]


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param("torch.compile(f)", 'torch.compile(f, backend="neuron", dynamic=False)', id="plain"),
        pytest.param(
            "torch.compile(model=f)", 'torch.compile(model=f, backend="neuron", dynamic=False)', id="model by name"
        ),
        pytest.param("torch.compile()", 'torch.compile(backend="neuron", dynamic=False)', id="decorator to be"),
        pytest.param(
            "torch.compile(f, backend='inductor')",
            "torch.compile(f, backend='neuron', dynamic=False)",
            id="quotes stay",
        ),
        pytest.param(
            "torch.compile(f, dynamic=False, backend='inductor')",
            "torch.compile(f, dynamic=False, backend='neuron')",
            id="arguments keep their order",
        ),
        pytest.param(
            "torch.compile(f, backend=None, dynamic=None)",
            'torch.compile(f, backend="neuron", dynamic=False)',
            id="None is the default, which is inductor",
        ),
        pytest.param(
            "torch.compile(f, backend='inductor' if big else None)",
            "torch.compile(f, backend='neuron' if big else \"neuron\", dynamic=False)",
            id="both arms",
        ),
        pytest.param(
            "torch.compile(f, fullgraph=full, name='f', recompile_limit=4)",
            "torch.compile(f, fullgraph=full, name='f', recompile_limit=4, backend=\"neuron\", dynamic=False)",
            id="other arguments stay",
        ),
        pytest.param(
            "torch.compile(g(f), mode=m)", 'torch.compile(g(f), backend="neuron", dynamic=False)', id="nested"
        ),
        pytest.param(
            "a = b = torch.compile(f)", 'a = b = torch.compile(f, backend="neuron", dynamic=False)', id="chain"
        ),
        pytest.param(
            "x = [torch.compile(f) for f in fs]",
            'x = [torch.compile(f, backend="neuron", dynamic=False) for f in fs]',
            id="comprehension",
        ),
        pytest.param(
            "print(f'{torch.compile(f)}')",
            "print(f'{torch.compile(f, backend=\"neuron\", dynamic=False)}')",
            id="f-string",
        ),
        pytest.param(
            "def g(f=torch.compile(f)): ...",
            'def g(f=torch.compile(f, backend="neuron", dynamic=False)): ...',
            id="default",
        ),
        pytest.param(
            "t = torch; t.compile(f)", 't = torch; t.compile(f, backend="neuron", dynamic=False)', id="alias of torch"
        ),
        pytest.param("c = torch.compile; c(f)", 'c = torch.compile; c(f, backend="neuron", dynamic=False)', id="alias"),
        pytest.param("(torch.compile)(f)", '(torch.compile)(f, backend="neuron", dynamic=False)', id="in parentheses"),
        pytest.param(
            "torch.compile(f).x.y", 'torch.compile(f, backend="neuron", dynamic=False).x.y', id="used at once"
        ),
        pytest.param(
            "torch.compile(f, **{'mode': m})",
            'torch.compile(f, **{"backend": "neuron", "dynamic": False})',
            id="dict in place",
        ),
    ],
)
def test_changes(before: str, after: str) -> None:
    assert line(before) == after


@pytest.mark.parametrize(
    "code",
    [
        pytest.param('torch.compile(f, backend="neuron", dynamic=False, fullgraph=True)', id="migrated"),
        pytest.param('torch.compile(f, dynamic=False, backend="neuron")', id="migrated in another order"),
        pytest.param('torch.compile(f, backend="neuron")', id="dynamic missing is an offer"),
        pytest.param('torch.compile(f, backend="eager", mode="default")', id="backend for debugging"),
        pytest.param("torch.compile(f, disable=True)", id="disabled"),
        pytest.param('hasattr(torch, "compile")', id="guard"),
        pytest.param("callable(torch.compile)", id="looked at"),
        pytest.param("torch.compile.__doc__", id="attribute of the function"),
        pytest.param("m._orig_mod.load_state_dict(s)", id="unwrapped"),
        pytest.param('{k.replace("_orig_mod.", ""): v for k, v in s.items()}', id="names of a checkpoint"),
        pytest.param('"torch.compile(f)"', id="text"),
        pytest.param("x = 1  # torch.compile(f)", id="comment"),
        pytest.param('compile("1", "f", "eval")', id="the builtin"),
        pytest.param("torch.compiler.reset()", id="backend-independent"),
        pytest.param("torch.compiler.disable(f)", id="disable"),
        pytest.param("@torch.compiler.disable\ndef g(): ...", id="disable as decorator"),
        pytest.param("import re; re.compile('a')", id="re"),
        pytest.param("def h(torch): torch.compile(f)", id="shadowed by a parameter"),
        pytest.param("class torch2: compile = staticmethod(print)\ntorch2.compile(f)", id="own class"),
        pytest.param("model.compile(optimizer='adam')", id="Keras"),
        pytest.param("model.compile(source)", id="positional argument"),
        pytest.param("import jax\njax.jit(f).lower(x).compile()", id="method chain of another package"),
        pytest.param("import jax\nlow = jax.jit(f).lower(x)\nlow.compile()", id="object of another package"),
        pytest.param("query.compile(dialect=d)", id="keyword that torch does not have"),
        pytest.param("graph.compile(backend='tvm', target='llvm')", id="a backend beside such a keyword"),
        pytest.param("k = torch.compile\ntorch.compile = g\ntorch.compile = k", id="put back after a test"),
        pytest.param("k = torch.compile\npatch.setattr(torch, 'compile', k)", id="put back by a call"),
        pytest.param("if getattr(torch, 'compile', None) is None: ...", id="asked whether it is there"),
        pytest.param("from functools import wraps\n@wraps(torch.compile)\ndef g(): ...", id="model of a wrapper"),
        pytest.param("if g in (torch.compile, print): ...", id="one of several in a test"),
        pytest.param("if a and getattr(torch, 'compile', None): ...", id="part of a test"),
        pytest.param("if x.device.type == 'cpu':\n    torch.compile(f)", id="branch of the CPU"),
        pytest.param("if not (device == 'neuron'):\n    torch.compile(f)", id="branch of what is not neuron"),
        pytest.param(
            "f if device.type in ('mps', 'xpu') else f\nmps = device.type == 'mps' and torch.compile(f)", id="and"
        ),
        pytest.param("g = torch.compile(f) if str(device) == 'cpu' else f", id="arm of the CPU"),
        pytest.param("def g():\n    if device != 'cpu': return\n    torch.compile(f)", id="left on other devices"),
        pytest.param("for f in fs:\n    if device == 'neuron': continue\n    torch.compile(f)", id="left on neuron"),
        pytest.param("if torch.neuron.is_available(): ...\nelse: torch.compile(f)", id="without neuron"),
        pytest.param(
            "b = 'inductor'\nif d.type == 'neuron':\n    b = 'neuron'\ntorch.compile(f, backend=b)",
            id="chosen by device",
        ),
        pytest.param(
            "torch.compile(f, backend='neuron' if d.type == 'neuron' else 'inductor')", id="chosen by device in place"
        ),
    ],
)
def test_left_alone(code: str) -> None:
    outcome = migrate(TORCH + code + "\n")
    assert outcome.text == TORCH + code + "\n"
    assert [f for f in outcome.findings if f["status"] == "open" and f["safety"] not in ("offer", "note")] == []


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("torch.compile(f, backend=b)", id="a name from nowhere"),
        pytest.param("def g(f, b): return torch.compile(f, backend=b)", id="parameter"),
        pytest.param("def g(f, b=None):\n    if b: return torch.compile(f, backend=b)", id="parameter that is tested"),
        pytest.param("torch.compile(f, backend=pick())", id="call"),
        pytest.param("torch.compile(f, backend=config.backend)", id="attribute"),
        pytest.param("torch.compile(f, backend='inductor' if a else b)", id="unknown arm"),
        pytest.param("torch.compile(f, **kwargs)", id="unpacked"),
        pytest.param("torch.compile(*args)", id="unpacked by position"),
        pytest.param("k = {'mode': m}\nk['dynamic'] = True\ntorch.compile(f, **k)", id="dict that is written to"),
        pytest.param("k = {**base}\ntorch.compile(f, **k)", id="dict made of another"),
        pytest.param("k = {key: 1}\ntorch.compile(f, **k)", id="computed key"),
        pytest.param("torch.compile(f, **({} if a else {'mode': m}))", id="choice of dicts"),
    ],
)
def test_unknown_is_an_error_for_a_person(code: str) -> None:
    outcome = migrate(TORCH + code + "\n")
    assert outcome.text == TORCH + code + "\n"
    assert outcome.one("TN301")["severity"] == "error"


@pytest.mark.parametrize(
    "code, wanted",
    [
        pytest.param("torch.compile(f)", {"TN301": "safe", "TN304": "safe", "TN305": "offer"}, id="missing"),
        pytest.param("torch.compile(f, mode=m)", {"TN301": "safe", "TN302": "safe"}, id="mode"),
        pytest.param("torch.compile(f, mode=m())", {"TN302": "review"}, id="mode is computed"),
        pytest.param("torch.compile(f, dynamic=True)", {"TN304": "review"}, id="dynamic was asked for"),
        pytest.param("torch.compile(f, dynamic=d)", {"TN304": "review"}, id="dynamic unknown"),
        pytest.param("torch.compile(f, shapes_spec=s)", {"TN306": "safe"}, id="shapes_spec"),
        pytest.param("torch.compile(f, options={})", {"TN303": "safe"}, id="empty options"),
        pytest.param("torch.compile(f, options=o)", {"TN303": "manual"}, id="unknown options"),
        pytest.param('torch.compile(f, backend="neuron")', {"TN304": "offer", "TN305": "offer"}, id="neuron already"),
        pytest.param('torch.compile(f, backend="mine")', {"TN301": "manual"}, id="registered by the program"),
        pytest.param("torch.compile(f, backend=lambda g, i: g)", {"TN301": "manual"}, id="callable"),
        pytest.param("exec(s)\ntorch.compile(f)", {"TN301": "review"}, id="names may be rebound"),
        pytest.param("map(torch.compile, fs)", {"TN301": "review"}, id="handed on"),
    ],
)
def test_levels(code: str, wanted: dict[str, str]) -> None:
    found = {f["rule"]: f["safety"] for f in migrate(TORCH + code + "\n").findings}
    assert {rule: found.get(rule) for rule in wanted} == wanted


def test_name_from_two_places_is_never_safe() -> None:
    code = "try:\n    from torch import compile\nexcept ImportError:\n    from other import compile\n\nf = compile(g)\n"
    assert migrate(code).one("TN301")["safety"] == "review"


def test_star_import_is_never_safe() -> None:
    outcome = migrate("from torch import *\n\nf = compile(g)\n")
    assert [f["safety"] for f in outcome.findings if f["rule"] == "TN301"] in ([], ["review"])


@pytest.mark.parametrize(
    "code, wanted",
    [
        pytest.param("if device.type != 'cpu':\n    torch.compile(f)", "safe", id="every device but the CPU"),
        pytest.param("if device.type == 'cpu': ...\nelse:\n    torch.compile(f)", "safe", id="the other branch"),
        pytest.param("if mode == 'cpu':\n    torch.compile(f)", "safe", id="no test of a device"),
        pytest.param("if offload_device == 'cpu':\n    torch.compile(f)", "safe", id="a device for something else"),
        pytest.param("if device in ('cpu', 'cuda'):\n    torch.compile(f)", "safe", id="more than the CPU"),
        pytest.param(
            "if device == 'cpu':\n    def g(): return torch.compile(f)", "safe", id="function that is called later"
        ),
        pytest.param("if device == 'neuron':\n    torch.compile(f)", "safe", id="the branch of neuron"),
        pytest.param("g = getattr(torch, 'compile', None) or h", "manual", id="looked up by name"),
        pytest.param("class C:\n    g = staticmethod(torch.compile)", "review", id="static method"),
        pytest.param("class C:\n    g = torch.compile", "manual", id="method, which is bound where a partial is not"),
        pytest.param("def g():\n    if device == 'cpu': return\n    torch.compile(f)", "safe", id="the CPU has left"),
        pytest.param("def g():\n    if device != 'cpu': log()\n    torch.compile(f)", "safe", id="no device has left"),
        pytest.param("getattr(net, name).compile()", "manual", id="attribute by name may be a module"),
    ],
)
def test_sites_after_all(code: str, wanted: str) -> None:
    assert migrate(TORCH + code + "\n").one("TN301")["safety"] == wanted


@pytest.mark.parametrize(
    "values, after",
    [
        pytest.param(("inductor", "eager"), ("neuron", "eager"), id="one is for debugging"),
        pytest.param(("inductor", "aot_eager"), ("neuron", "neuron"), id="both change"),
        pytest.param(("eager", "eager"), ("eager", "eager"), id="none changes"),
        pytest.param(("inductor", "mine"), ("inductor", "mine"), id="one is not known"),
    ],
)
def test_variable_that_is_set_in_branches(values: tuple[str, str], after: tuple[str, str]) -> None:
    code = "def g(f, a):\n    b = '{}'\n    if a:\n        b = '{}'\n    return torch.compile(f, backend=b"
    assert migrate(TORCH + code.format(*values) + ")\n").text.startswith(TORCH + code.format(*after))


def test_everything_of_one_call_is_one_fix() -> None:
    outcome = migrate(TORCH + "torch.compile(f, mode=m, options={}, dynamic=True)\n")
    fixes = {f["fix"] for f in outcome.findings if f["safety"] != "offer"}
    assert len(fixes) == 1


def test_variable_for_two_calls_is_edited_once() -> None:
    code = 'def g(f, h):\n    b = "inductor"\n    return torch.compile(f, backend=b), torch.compile(h, backend=b)\n'
    assert 'b = "neuron"\n' in migrate(TORCH + code).text


def test_offers_of_one_call_go_together() -> None:
    assert (
        line('torch.compile(f, backend="neuron")', "offer")
        == 'torch.compile(f, backend="neuron", dynamic=False, fullgraph=True)'
    )


def test_variable_that_others_import_stays() -> None:
    files = {"a.py": b'import torch\nb = "inductor"\nf = torch.compile(g, backend=b)\n', "c.py": b"from a import b\n"}
    _, after = run_tree(files)
    assert after["a.py"] == b'import torch\nb = "inductor"\nf = torch.compile(g, backend="neuron", dynamic=False)\n'


def test_alias_that_others_import_carries_its_arguments() -> None:
    files = {"a.py": b"import torch\njit = torch.compile\n", "c.py": b"from a import jit\n"}
    _, after = run_tree(files)
    assert after["a.py"].decode().endswith('jit = functools.partial(torch.compile, backend="neuron", dynamic=False)\n')


@pytest.mark.parametrize(
    "receiver, verdict",
    [
        pytest.param("torch.nn.Linear(2, 2)", "safe", id="class of torch"),
        pytest.param("torch.nn.Linear(2, 2).to(d).eval()", "safe", id="methods that give the module back"),
        pytest.param("torchvision.models.resnet18()", "safe", id="factory"),
        pytest.param("Net()", "safe", id="own module"),
        pytest.param("Sub()", "safe", id="module of a module"),
        pytest.param("Plain()", "", id="own class that is none"),
        pytest.param("re", "", id="module of Python"),
        pytest.param("tf.keras.Sequential()", "", id="Keras"),
        pytest.param("make()", "manual", id="unknown"),
    ],
)
def test_receivers_of_compile(receiver: str, verdict: str) -> None:
    code = (
        "import re\nimport tensorflow as tf\nimport torch\nimport torchvision\nfrom torch import nn\n\n\n"
        "class Net(nn.Module): ...\n\n\nclass Sub(Net): ...\n\n\nclass Plain: ...\n\n\n"
        f"m = {receiver}\nm.compile()\n"
    )
    assert [f["safety"] for f in migrate(code).findings if f["rule"] == "TN301"] == ([verdict] if verdict else [])


def test_own_compile_method_makes_it_uncertain() -> None:
    own = (
        b"from torch import nn\n\n\nclass Task(nn.Module):\n    def compile(self, backend='inductor', mode=None): ...\n"
    )
    user = b"import torch\n\n\ndef go(task, net: torch.nn.Module):\n    task.compile(mode='x')\n    net.compile()\n"
    result, after = run_tree({"own.py": own, "user.py": user})
    assert (
        after["user.py"]
        .decode()
        .endswith("    task.compile(mode='x')\n    net.compile(backend=\"neuron\", dynamic=False)\n")
    )
    levels = {i.safety.value for i in result.items() if i.rule == "TN301" and i.safety}
    assert levels == {"manual", "review"}
