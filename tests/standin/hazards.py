"""Run on the stand-in by test_standin_hazards: each function meets one hazard, and prints what was reported.

The name of a function is CODE_what; functions named `clean_...` must not be reported at all.
"""

import inspect
import json
import logging
import warnings

import torch
import torch._dynamo as dynamo
import torch.nn as nn
from _neuron_migrate_standin import breaks, records

D = "neuron"
X = torch.randn(8, 8, device=D)


def compiled(function, **options):
    return torch.compile(function, backend="neuron", **{"dynamic": False, **options})


def TN501_transposed_input():
    compiled(lambda t: t + 1)(X.t())


def TN360_host_input():
    compiled(lambda t, u: (t + 1, u + 1))(X, torch.ones(3))


def TN361_new_shapes():
    f = compiled(lambda t: t * 2)
    for n in (3, 4, 5):
        f(torch.ones(n, device=D))


def TN361_gradients():
    f = compiled(lambda t: t * 5)
    f(X)
    with torch.no_grad():
        f(X)


def TN364_too_many_shapes():
    f = compiled(lambda t: t * 3)
    for n in range(2, 12):
        f(torch.ones(n, device=D))


def TN352_print():
    def f(t):
        t = t * 2
        print("", end="")
        return t + 1

    compiled(f)(X)


def TN351_item():
    def f(t):
        return t * t.sum().item()

    compiled(f)(X)


def TN353_branch_on_data():
    def f(t):
        if t.sum() > 0:
            return t + 1
        return t - 1

    compiled(f)(X)


def TN354_mask_in_graph():
    def f(t):
        return t[t > 0] * 2

    compiled(f)(X)


def TN354_nonzero_captured():
    with dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled(lambda t: torch.nonzero(t) + 1, fullgraph=True)(X)


def TN350_other_break():
    def f(t):
        dynamo.graph_break()
        return t + 1

    compiled(f)(X)


def TN204_float64_in_graph():
    compiled(lambda t: t.double() * 2)(X)


def TN204_float64_tensor():
    torch.zeros(2, device=D, dtype=torch.float64)


def TN204_float64_method():
    X.double()


def TN125_mixed_devices():
    X + torch.ones(8)


def TN205_large_integer():
    compiled(lambda t: t + 1)(torch.tensor([2**40, 1], device=D))


def TN355_sort():
    compiled(lambda t: t.sort()[0])(torch.randn(20000, device=D))


def TN355_argsort():
    compiled(lambda t: t.argsort(dim=0))(torch.randn(20000, 2, device=D))


def TN356_topk():
    compiled(lambda t: t.topk(16384)[0])(torch.randn(20000, device=D))


def TN357_grouped_mm():
    a = torch.randn(16, 16, device=D, dtype=torch.bfloat16)
    b = torch.randn(2, 16, 16, device=D, dtype=torch.bfloat16)
    offsets = torch.tensor([8, 16], device=D, dtype=torch.int32)
    compiled(lambda x, y, o: torch._grouped_mm(x, y, o) + 1)(a, b, offsets)


def TN302_mode():
    compiled(lambda t: t + 1, mode="max-autotune")(X)


def TN303_options():
    compiled(lambda t: t + 1, options={"triton.cudagraphs": True})(X)


def TN304_dynamic():
    compiled(lambda t: t + 1, dynamic=True)(X)


def TN304_dynamic_not_written():
    torch.compile(lambda t: t + 1, backend="neuron")(X)


def TN363_marked_dynamic():
    y = torch.ones(5, 3, device=D)
    dynamo.mark_dynamic(y, 0)
    compiled(lambda t: t + 1)(y)


def TN107_call():
    torch.cuda.empty_cache()


def TN107_method():
    torch.ones(2).cuda()


def TN107_imported():
    from torch.cuda.amp import GradScaler

    assert GradScaler


def TN107_scaler_for_cuda():
    torch.amp.GradScaler()


def TN107_autocast_for_cuda():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (X @ X).dtype == torch.float32


def TN107_refused_name():
    torch.neuron.get_device_capability()


def TN502_channels_last():
    torch.randn(2, 3, 4, 4, device=D).to(memory_format=torch.channels_last)


def clean_contiguous_region():
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU()).to(D)
    f = compiled(model, fullgraph=True)
    for _ in range(3):
        f(X).sum().backward()


def clean_integers_in_range():
    compiled(lambda t: t + 1)(torch.arange(10, device=D))


def clean_small_sort_and_topk():
    compiled(lambda t: (t.sort()[0], t.topk(100)[0]))(torch.randn(16384, device=D))


def clean_optimizer_and_scaler():
    model = nn.Linear(8, 8).to(D)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    scaler = torch.amp.GradScaler("neuron")
    scaler.scale(model(X).sum()).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    repr(X)


def clean_host_tensors():
    torch.zeros(3, dtype=torch.float64).sum()
    torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    X[torch.tensor([0, 1])].sum()
    X * torch.tensor(2.0)


def clean_mixed_precision_that_is_off():
    torch.amp.GradScaler("neuron", enabled=False)
    torch.amp.GradScaler("cuda", enabled=False)
    with torch.autocast("neuron", dtype=torch.bfloat16), torch.autocast("cpu", enabled=False):
        assert (X @ X).dtype == torch.bfloat16


def clean_documented_options():
    compiled(lambda t: t + 2, options={"model_name": "m"}, mode=None)(X)


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for name, function in list(globals().items()):
        if not inspect.isfunction(function) or name in ("main", "compiled"):
            continue
        dynamo.reset()
        dynamo.utils.clear_compilation_metrics()
        breaks.forget()
        records.clear()
        raised = ""
        try:
            function()
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"
        breaks.collect()
        first = function.__code__.co_firstlineno
        last = first + len(inspect.getsource(function).splitlines())
        print(json.dumps({"case": name, "raised": raised, "first": first, "last": last, "rows": records.rows()}))


if __name__ == "__main__":
    main()
