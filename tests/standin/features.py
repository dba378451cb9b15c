"""Run on the stand-in by test_standin_features: each function is one everyday feature of a device."""

import copy
import inspect
import io
import json
import pickle
import sys
import traceback

import torch
import torch.nn as nn
import torch.nn.functional as F

D = "neuron"
OPERATORS = {
    "cumsum": (0,),
    "cumprod": (0,),
    "flip": ((0,),),
    "roll": (1,),
    "softmax": (-1,),
    "log_softmax": (-1,),
    "logsumexp": (-1,),
    "clamp": (0, 1),
}
PLAIN_OPERATORS = (
    "exp log sin cos tanh sigmoid sqrt rsqrt abs neg floor ceil round erf lgamma digamma tril triu argmax argmin max "
    "min median mode std var norm prod isnan isinf sign nan_to_num"
)


def factories():
    x = torch.randn(3, 4, device=D)
    assert x.device == torch.device("neuron", 0)
    assert torch.zeros(2, device="neuron:1").device.index == 1
    assert torch.arange(5, device=D).tolist() == [0, 1, 2, 3, 4]
    assert torch.full((2,), 3.0, device=D).tolist() == [3, 3]
    assert torch.eye(3, device=D).sum().item() == 3
    assert sorted(torch.randperm(8, device=D).tolist()) == list(range(8))
    assert torch.tensor([1, 2], device=D).is_neuron
    assert torch.tril_indices(3, 3, device=D).shape == (2, 6)
    assert torch.linspace(0, 1, 5, device=D)[2].item() == 0.5


def generated_methods():
    assert torch.zeros(2).neuron().is_neuron
    assert nn.Linear(2, 2).neuron().weight.is_neuron


def views_share_memory():
    x = torch.arange(24.0, device=D).view(2, 3, 4)
    y = x.transpose(0, 1)[1:, :, ::2]
    y.add_(100)
    expected = torch.arange(24.0).view(2, 3, 4)
    expected.transpose(0, 1)[1:, :, ::2].add_(100)
    assert torch.equal(x.cpu(), expected)
    assert x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    assert x.expand(5, 2, 3, 4).permute(3, 0, 1, 2).reshape(-1).unfold(0, 3, 1).shape[1] == 3


def out_argument_is_resized():
    out = torch.empty(0, device=D)
    torch.add(torch.ones(3, device=D), 1, out=out)
    assert out.tolist() == [2, 2, 2]


def mixed_devices_refused():
    try:
        torch.ones(3, device=D) + torch.ones(3)
    except RuntimeError as error:
        assert "same device" in str(error)
    else:
        raise AssertionError("silently mixed")


def host_scalar_accepted():
    assert (torch.ones(3, device=D) * torch.tensor(2.0)).sum().item() == 6


def indexing():
    x = torch.arange(10, device=D)
    assert x[torch.tensor([1, 2])].tolist() == [1, 2]
    assert x[x > 5].tolist() == [6, 7, 8, 9]
    x[x > 5] = 0
    assert x.sum().item() == 15


def autograd():
    w = torch.randn(4, 4, device=D, requires_grad=True)
    (w @ w).relu().sum().backward()
    assert w.grad.is_neuron


def double_backward():
    x = torch.randn(3, device=D, requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    g.sum().backward()
    assert torch.allclose(x.grad, 6 * x)


def module_moves():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.1), nn.GELU()).to(D)
    model(torch.randn(8, 4, device=D)).sum().backward()
    assert model[0].weight.grad.is_neuron


def move_keeps_parameters():
    model = nn.ModuleDict({"a": nn.Linear(4, 4, bias=False), "b": nn.Linear(4, 4, bias=False)})
    model["b"].weight = model["a"].weight
    before = model["a"].weight
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.to(D)
    assert model["a"].weight is before and model["b"].weight is before
    assert before.is_neuron
    assert optimizer.param_groups[0]["params"][0] is before
    before.data = torch.zeros(4, 4, device=D)
    assert before.sum().item() == 0


def _sample(mode):
    """What sampling does, against the same on the CPU."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 6))
    x = torch.randn(2, 3, 8, 8)
    found = []
    for device in ("cpu", D):
        model.eval().to(device)
        image = x.clone().to(device)
        with mode():
            y = model(image)
            p = y.softmax(-1)
            p[:, 0] = 0
            p.div_(p.sum(-1, keepdim=True))
            v = p.view(3, 4).t()[1:, ::2].unsqueeze(0)
            v.mul_(2)
            image.transpose(2, 3)[0].zero_()  # a view of a tensor that was made outside
            weight = model[3].weight.view(-1)[:3]
            lstm, _ = nn.LSTM(4, 4, device=device)(torch.ones(2, 1, 4, device=device))
            attended = F.scaled_dot_product_attention(*[image.flatten(2)] * 3)
            made = (y, p, v, weight, lstm)
            assert lstm.shape == (2, 1, 4)
        found.append([t.cpu().clone() for t in (y, p, v, image, weight, attended)])
        kinds = [t.is_inference() for t in made]
        assert kinds == [mode is torch.inference_mode] * 3 + [False, mode is torch.inference_mode], kinds
        before = image._version
        image.add_(1)  # an ordinary tensor still, with a version
        assert image._version == before + 1
    assert all(torch.equal(a, b) for a, b in zip(*found))
    model(x.to(D)).sum().backward()  # the weights too
    if mode is torch.inference_mode:
        try:
            y.add_(1)
        except RuntimeError as error:
            assert "outside InferenceMode" in str(error)
        else:
            raise AssertionError("in-place on an inference tensor")
        assert y[0].is_inference() and not (y + 1).is_inference()


def inference_mode():
    _sample(torch.inference_mode)


def no_grad():
    _sample(torch.no_grad)


def convolutions():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.ConvTranspose2d(8, 4, 2)
    ).to(D)
    x = torch.randn(2, 3, 16, 16, device=D, requires_grad=True)
    model(x).sum().backward()
    conv = nn.Conv2d(3, 8, 3)
    expected = conv(x.detach().cpu())
    assert torch.equal(conv.to(D)(x.detach()).cpu(), expected)


def lstm():
    model = nn.LSTM(4, 8, num_layers=2, batch_first=True).to(D)
    model(torch.randn(2, 5, 4, device=D))[0].sum().backward()
    assert model.weight_ih_l0.grad is not None


def gru():
    model = nn.GRU(4, 8).to(D)
    model(torch.randn(2, 5, 4, device=D))[0].sum().backward()
    assert model.weight_ih_l0.grad is not None


def lstm_cell():
    cell = nn.LSTMCell(4, 8).to(D)
    cell(torch.randn(2, 4, device=D))[0].sum().backward()
    assert cell.weight_ih.grad is not None


def multihead_attention():
    model = nn.MultiheadAttention(8, 2, batch_first=True).to(D)
    x = torch.randn(2, 5, 8, device=D)
    model(x, x, x)[0].sum().backward()
    assert model.in_proj_weight.grad is not None


def transformer_inference():
    model = nn.TransformerEncoderLayer(8, 2, batch_first=True).to(D).eval()
    with torch.inference_mode():
        assert model(torch.randn(2, 5, 8, device=D)).shape == (2, 5, 8)


def attention():
    q = torch.randn(1, 2, 4, 8, device=D, requires_grad=True)
    F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    assert q.grad is not None


def embedding_and_loss():
    table = nn.Embedding(10, 8).to(D)
    ids = torch.tensor([1, 2, 3], device=D)
    F.cross_entropy(table(ids), ids).backward()
    assert table.weight.grad is not None


def optimizers():
    for kind, options in (
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (torch.optim.Adam, {}),
        (torch.optim.AdamW, {"foreach": True}),
        (torch.optim.AdamW, {"fused": True}),
        (torch.optim.AdamW, {"capturable": True}),
        (torch.optim.RMSprop, {}),
        (torch.optim.Adagrad, {}),
        (torch.optim.LBFGS, {}),
    ):
        model = nn.Linear(4, 4).to(D)
        before = model.weight.detach().clone()
        optimizer = kind(model.parameters(), **options)

        def closure(model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = model(torch.ones(2, 4, device=D)).pow(2).sum()
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)
        assert not torch.equal(before, model.weight), kind


def gradient_clipping():
    model = nn.Linear(4, 4).to(D)
    model(torch.ones(2, 4, device=D)).sum().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    assert abs(torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item() - 1) < 1e-4


def autocast():
    a = torch.randn(4, 4, device=D)
    with torch.autocast("neuron", dtype=torch.bfloat16):
        assert (a @ a).dtype == torch.bfloat16
        assert F.softmax(a @ a, -1).dtype == torch.float32
        assert F.layer_norm(a @ a, (4,)).dtype == torch.float32
    with torch.autocast(device_type="neuron"):
        assert (a @ a).dtype == torch.float16


def grad_scaler():
    scaler = torch.amp.GradScaler("neuron")
    assert scaler.is_enabled()
    model = nn.Linear(4, 4).to(D)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler.scale(model(torch.ones(2, 4, device=D)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def random_numbers():
    torch.manual_seed(0)
    a = torch.randn(4, device=D)
    torch.manual_seed(0)
    assert torch.equal(a, torch.randn(4, device=D))
    generator = torch.Generator(device=D).manual_seed(1)
    b = torch.rand(4, device=D, generator=generator)
    assert torch.equal(b, torch.rand(4, device=D, generator=torch.Generator(device=D).manual_seed(1)))
    assert torch.neuron.get_rng_state().dtype == torch.uint8
    torch.bernoulli(torch.full((4,), 0.5, device=D), generator=generator)


def random_numbers_are_the_hosts():
    torch.manual_seed(0)
    a = torch.randn(40, device=D).cpu()
    torch.manual_seed(0)
    assert torch.equal(a, torch.randn(40))


def device_generator_draws():
    torch.neuron.manual_seed(3)
    a = torch.randn(5, device=D)
    torch.rand(7)  # the host's generator is another one
    torch.neuron.manual_seed(3)
    assert torch.equal(a, torch.randn(5, device=D))


def generator_state_is_seed_and_offset():
    torch.neuron.manual_seed(11)
    state = torch.neuron.get_rng_state()
    assert (state.dtype, state.device.type, state.shape) == (torch.uint8, "cpu", (16,))
    assert state.view(torch.int64).tolist() == [11, 0]
    torch.rand(5, device=D)
    assert torch.neuron.get_rng_state().view(torch.int64).tolist() == [11, 5]
    torch.randn(2000, device=D)
    assert torch.neuron.get_rng_state().view(torch.int64).tolist() == [11, 2005]
    for drawn in (0, 1, 619, 5000):  # at the start, within a block of the engine, at its end, and far on
        torch.rand(drawn, device=D)
        torch.randn(3, device=D)  # an odd number of normals: none is kept for later
        saved = torch.neuron.get_rng_state()
        expected = torch.randn(9, device=D), torch.rand(700, device=D)
        torch.neuron.manual_seed(5)
        torch.neuron.set_rng_state(saved)
        assert torch.equal(saved, torch.neuron.get_rng_state())
        assert all(torch.equal(a, b) for a, b in zip(expected, (torch.randn(9, device=D), torch.rand(700, device=D))))
    generator = torch.Generator(device=D).manual_seed(1)
    a = torch.rand(30, device=D, generator=generator)
    generator.set_state(torch.tensor([1, 10]).view(torch.uint8))
    assert torch.equal(a[10:], torch.rand(20, device=D, generator=generator))
    for wrong in (torch.get_rng_state(), torch.zeros(16)):
        try:
            generator.set_state(wrong)
        except (RuntimeError, TypeError) as error:
            assert "ByteTensor" in str(error)
        else:
            raise AssertionError("not the state of a device")


def fork_rng():
    state = torch.neuron.get_rng_state()
    with torch.random.fork_rng(devices=[0], device_type="neuron"):
        torch.randn(3, device=D)
    assert torch.equal(state, torch.neuron.get_rng_state())


def activation_checkpointing():
    from torch.utils.checkpoint import checkpoint

    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).to(D)
    x = torch.randn(2, 4, device=D, requires_grad=True)
    for reentrant in (False, True):
        checkpoint(model, x, use_reentrant=reentrant).sum().backward()
    assert x.grad is not None


def pinned_loader():
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True, num_workers=1)
    for (batch,) in loader:
        assert batch.is_pinned()
        assert batch.to(D, non_blocking=True).is_neuron


def save_and_load():
    model = nn.Linear(4, 4).to(D)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    for where, device in (
        ("neuron", "neuron"),
        ("cpu", "cpu"),
        (None, "neuron"),
        ("neuron:1", "neuron"),
        (torch.device("neuron"), "neuron"),
    ):
        buffer.seek(0)
        assert torch.load(buffer, map_location=where)["weight"].device.type == device, where
    buffer = io.BytesIO()
    torch.save(nn.Linear(2, 2).state_dict(), buffer)
    buffer.seek(0)
    assert torch.load(buffer, map_location="neuron")["weight"].is_neuron


def copies_and_pickles():
    model = copy.deepcopy(nn.Linear(4, 4).to(D))
    assert pickle.loads(pickle.dumps(model.weight.data)).is_neuron


def numpy_refused():
    try:
        torch.zeros(2, device=D).numpy()
    except TypeError:
        return
    raise AssertionError("numpy() worked on a device tensor")


def printing():
    assert "neuron:0" in repr(torch.arange(3.0, device=D))


def accelerator_api():
    assert torch.accelerator.current_accelerator().type == "neuron"
    torch.accelerator.synchronize()
    assert torch.accelerator.device_count() == 2
    torch.accelerator.set_device_index(0)


def default_device():
    torch.set_default_device("neuron")
    try:
        assert torch.zeros(2).is_neuron and nn.Linear(2, 2).weight.is_neuron
    finally:
        torch.set_default_device(None)


def streams_and_events():
    first, second = torch.neuron.Event(enable_timing=True), torch.neuron.Event(enable_timing=True)
    first.record()
    second.record()
    second.synchronize()
    assert first.elapsed_time(second) >= 0
    torch.neuron.current_stream().synchronize()
    with torch.neuron.stream(torch.neuron.Stream()):
        torch.zeros(1, device=D)


def signatures_of_the_device():
    for wrong in (lambda: torch.neuron.Stream("neuron"), lambda: torch.neuron.set_device("neuron:0")):
        try:
            wrong()
        except TypeError:
            continue
        raise AssertionError("accepted")
    assert torch.neuron.get_device_name(0) == "neuron:0"
    assert set(vars(torch.neuron.get_device_properties(0))) == {"name", "total_memory"}
    assert torch.neuron.memory_stats()["allocated_bytes"]["current"] == torch.neuron.memory_allocated()
    assert not hasattr(torch.neuron, "get_device_capability")


def function_transforms():
    from torch.func import grad, vmap

    x = torch.randn(3, 4, device=D)
    assert torch.allclose(vmap(grad(lambda v: (v**3).sum()))(x), 3 * x**2)


def complex_numbers():
    x = torch.randn(8, device=D)
    assert torch.allclose(torch.fft.ifft(torch.fft.fft(x)).real, x, atol=1e-5)
    assert torch.view_as_real(torch.fft.fft(x).conj().resolve_conj()).shape == (8, 2)


def sorting_and_linear_algebra():
    x = torch.randn(20, device=D)
    assert torch.equal(x.sort()[0].cpu(), x.cpu().sort()[0])
    assert x.topk(3)[0][0] == x.max()
    assert torch.unique(x).numel() == 20 and torch.nonzero(x).shape == (20, 1)
    torch.linalg.svd(torch.randn(3, 3, device=D))
    assert len(torch.where(x > 0)) == 1


def profiler():
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recorded:
        torch.ones(3, device=D) + 1
    assert recorded.key_averages()


def meta_initialisation():
    with torch.device("meta"):
        model = nn.Linear(4, 4)
    assert model.to_empty(device=D).weight.is_neuron


def shared_memory():
    assert torch.zeros(3).share_memory_().is_shared()


def compiled_forward_and_backward():
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).to(D)
    compiled = torch.compile(model, backend="neuron", fullgraph=True, dynamic=False)
    x = torch.randn(3, 4, device=D)
    compiled(x).sum().backward()
    assert torch.equal(compiled(x), model(x))


def other_compile_backends():
    model = nn.Linear(4, 8).to(D)
    for backend in ("eager", "aot_eager"):
        torch.compile(model, backend=backend)(torch.randn(3, 4, device=D)).sum().backward()


def compiled_autocast():
    compiled = torch.compile(nn.Linear(4, 8).to(D), backend="neuron", fullgraph=True, dynamic=False)
    with torch.autocast("neuron", dtype=torch.bfloat16):
        assert compiled(torch.randn(3, 4, device=D)).dtype == torch.bfloat16


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 8)

    def forward(self, x):
        return self.linear(x).relu()


def module_compile_method():
    model = Small().to(D)
    model.compile(backend="neuron", fullgraph=True, dynamic=False)
    torch.neuron.reset_dynamo_metrics()
    model(torch.randn(3, 4, device=D)).sum().backward()
    assert [m.graph_name.split("_")[-1] for m in torch.neuron.get_dynamo_metrics()] == ["forward", "backward"]


def fake_tensors():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        assert (torch.randn(3, device=D) + 1).device.type == "neuron"


def device_mesh_import():
    from torch.distributed.device_mesh import init_device_mesh

    assert callable(init_device_mesh)


def cuda_is_absent():
    assert not torch.cuda.is_available()


def torch_neuronx_functions():
    import importlib.util

    import torch_neuronx
    from torch_neuronx.neuron_dynamo_backend import get_dynamo_metrics

    assert importlib.util.find_spec("torch_neuronx") is not None
    torch_neuronx.synchronize()
    torch_neuronx.clear_op_tracking()
    torch.ones(2, device=D) + 1
    assert "aten::add.Tensor" in torch_neuronx.get_executed_ops()
    assert torch_neuronx.get_fallback_ops() == []
    assert torch_neuronx.memory_summary()
    assert isinstance(get_dynamo_metrics(), list)
    assert not hasattr(torch_neuronx, "trace")


def operators_agree_with_the_host():
    x = torch.rand(4, 5, device=D) + 0.1
    for name in (*PLAIN_OPERATORS.split(), *OPERATORS):
        arguments = OPERATORS.get(name, ())
        got, expected = getattr(torch, name)(x, *arguments), getattr(torch, name)(x.cpu(), *arguments)
        if not torch.is_tensor(got):
            got, expected = got[0], expected[0]
        assert torch.equal(got.cpu(), expected), name
    index = torch.zeros(1, 5, dtype=torch.long, device=D)
    assert torch.einsum("ij,kj->ik", x, x).shape == (4, 4)
    assert torch.stack([x, x]).shape == (2, 4, 5) and torch.cat([x, x]).shape == (8, 5)
    assert x.scatter_add(0, index, x).shape == x.shape and x.gather(0, index).shape == (1, 5)
    assert F.pad(x, (0, 3)).shape == (4, 8) and F.interpolate(x[None, None], scale_factor=2).shape[-1] == 10
    assert torch.bincount(torch.tensor([1, 2], device=D)).tolist() == [0, 1, 1]
    assert torch.multinomial(x, 2).shape == (4, 2) and torch.histc(x).shape == (100,)


def main():
    for name, function in list(globals().items()):
        if inspect.isfunction(function) and function.__module__ == "__main__" and name != "main" and name[0] != "_":
            try:
                function()
                result = ""
            except BaseException:
                result = traceback.format_exc()
            print(json.dumps({"feature": name, "failure": result}))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
