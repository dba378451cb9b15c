"""Started by torchrun, plainly (argument cpu) and on the stand-in (argument neuron): DDP, FSDP2, collectives."""

import json
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from training import GPT, batches

torch.set_num_threads(1)
RANK = int(os.environ["LOCAL_RANK"])
ON_NEURON = sys.argv[1] == "neuron"
DEVICE = f"neuron:{RANK}" if ON_NEURON else "cpu"
BACKEND = "neuron" if ON_NEURON else "aot_eager"
WORLD = 2


def train(how, steps=6):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    torch._dynamo.reset()
    torch.manual_seed(0)
    model = GPT().to(DEVICE)
    if "blocks compiled" in how:
        for block in model.blocks:
            block.compile(backend=BACKEND, fullgraph=True, dynamic=False)
    if how.startswith("ddp"):
        model = DistributedDataParallel(model, device_ids=[RANK] if ON_NEURON else None)
    else:
        mesh = init_device_mesh("neuron" if ON_NEURON else "cpu", (WORLD,))
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for ids, targets in batches(steps, seed=1 + RANK):
        loss = model(ids.to(DEVICE), targets.to(DEVICE))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item())
    return losses


def x(*shape):
    return torch.full(shape or (4,), float(RANK + 1), device=DEVICE)


def all_reduce():
    t = x()
    dist.all_reduce(t)
    assert t.tolist() == [3.0] * 4


def all_reduce_average():
    t = x()
    dist.all_reduce(t, op=dist.ReduceOp.AVG)
    assert t.tolist() == [1.5] * 4


def asynchronous():
    t = x()
    dist.all_reduce(t, async_op=True).wait()
    assert t[0].item() == 3


def broadcast():
    t = x()
    dist.broadcast(t, 0)
    assert t[0].item() == 1


def reduce():
    t = x()
    dist.reduce(t, 0)
    assert RANK or t[0].item() == 3


def all_gather():
    out = [torch.empty(4, device=DEVICE) for _ in range(WORLD)]
    dist.all_gather(out, x())
    assert [t[0].item() for t in out] == [1, 2]


def all_gather_into_tensor():
    out = torch.empty(8, device=DEVICE)
    dist.all_gather_into_tensor(out, x())
    assert out.tolist() == [1] * 4 + [2] * 4


def reduce_scatter():
    out = x()
    dist.reduce_scatter_tensor(out, torch.ones(8, device=DEVICE))
    assert out.tolist() == [2] * 4


def all_to_all_single():
    out = torch.empty(4, device=DEVICE)
    dist.all_to_all_single(out, x())
    assert out.tolist() == [1, 1, 2, 2]


def all_to_all_list():
    out = [torch.empty(2, device=DEVICE) for _ in range(WORLD)]
    dist.all_to_all(out, [x(2), x(2)])
    assert [t[0].item() for t in out] == [1, 2]


def uneven_splits_refused():
    sizes = [1, 3] if RANK == 0 else [3, 1]
    try:
        dist.all_to_all_single(torch.empty(4, device=DEVICE), x(), [1, 3] if RANK == 0 else [3, 1], sizes)
    except NotImplementedError as error:
        assert "even split" in str(error)
    else:
        raise AssertionError("accepted")


def point_to_point():
    t = x()
    if RANK == 0:
        dist.send(t, 1)
    else:
        dist.recv(t, 0)
    assert t[0].item() == 1


def objects():
    out = [None] * WORLD
    dist.all_gather_object(out, {"rank": RANK})
    assert out[1] == {"rank": 1}


def barrier():
    dist.barrier()


def subgroup():
    group = dist.new_group([0, 1])
    t = x()
    dist.all_reduce(t, group=group)
    assert t[0].item() == 3
    try:
        dist.barrier(group=group)
    except NotImplementedError as error:
        assert "default group" in str(error)
    else:
        raise AssertionError("barrier on a subgroup was accepted")


def functional():
    world = dist.group.WORLD
    assert funcol.all_reduce(x(), "sum", world).tolist() == [3.0] * 4
    assert funcol.all_gather_tensor(x(), 0, world).shape == (8,)
    assert funcol.reduce_scatter_tensor(torch.ones(8, device=DEVICE), "sum", 0, world)[0].item() == 2


def compiled_functional():
    @torch.compile(backend=BACKEND, fullgraph=True, dynamic=False)
    def f(t):
        return funcol.all_reduce(t * 2, "sum", dist.group.WORLD) + 1

    assert f(x()).tolist() == [7.0] * 4


def compiled_in_place():
    @torch.compile(backend=BACKEND, fullgraph=True, dynamic=False)
    def f(t):
        t = t * 2
        dist.all_reduce(t)
        return t + 1

    assert f(x()).tolist() == [7.0] * 4


def compiled_object():
    @torch.compile(backend=BACKEND, dynamic=False)
    def f(t):
        out = [None] * WORLD
        dist.all_gather_object(out, RANK)
        return t + len(out)

    assert f(x())[0].item() == RANK + 3


def dtensor():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("neuron", (WORLD,))
    torch.manual_seed(0)
    a = torch.randn(4, 4, device=DEVICE)
    d = distribute_tensor(a, mesh, [Shard(0)])
    product = (d @ d.redistribute(mesh, [Replicate()])).full_tensor()
    assert torch.allclose(product.cpu(), (a @ a).cpu())


def distributed_checkpoint():
    import torch.distributed.checkpoint as dcp

    folder = [tempfile.mkdtemp() if RANK == 0 else ""]
    dist.broadcast_object_list(folder, src=0)
    state = {"w": x()}
    dcp.save(state, checkpoint_id=folder[0])
    state["w"].zero_()
    dcp.load(state, checkpoint_id=folder[0])
    assert state["w"].sum().item() > 0


def dtensor_random():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("neuron", (WORLD,))
    torch.manual_seed(0)
    shards = distribute_tensor(torch.zeros(4, 64, device="neuron"), mesh, [Shard(0)]).normal_()
    whole = shards.full_tensor()
    assert shards.to_local().shape == (4 // WORLD, 64)
    assert not torch.equal(whole[:2], whole[2:])  # each rank draws numbers of its own
    same = distribute_tensor(torch.zeros(8, device="neuron"), mesh, [Replicate()]).uniform_().to_local()
    seen = [torch.empty_like(same) for _ in range(WORLD)]
    dist.all_gather(seen, same)
    assert torch.equal(*seen) and same.std().item() > 0  # and all of them the same where they have to
    torch.manual_seed(0)
    again = distribute_tensor(torch.zeros(4, 64, device="neuron"), mesh, [Shard(0)]).normal_()
    assert torch.equal(whole, again.full_tensor())


def own_device_only():
    assert torch.neuron.current_device() == RANK
    assert torch.neuron.device_count() == WORLD
    try:
        torch.zeros(1, device=f"neuron:{1 - RANK}")
    except RuntimeError as error:
        assert f"Valid range is {RANK} to {RANK}" in str(error)
    else:
        raise AssertionError("another rank's device was accepted")


COLLECTIVES = [
    all_reduce, all_reduce_average, asynchronous, broadcast, reduce, all_gather, all_gather_into_tensor,
    reduce_scatter, all_to_all_single, all_to_all_list, uneven_splits_refused, point_to_point, objects, barrier,
    subgroup, functional, compiled_functional, compiled_in_place, compiled_object, dtensor, dtensor_random,
    distributed_checkpoint, own_device_only,
]  # fmt: skip


def main():
    dist.init_process_group(backend="neuron" if ON_NEURON else "gloo")
    result = {}
    if ON_NEURON:
        torch.neuron.set_device(RANK)
        for function in COLLECTIVES:
            try:
                function()
                result[function.__name__] = ""
            except Exception as error:
                result[function.__name__] = f"{type(error).__name__}: {error}"
    for how in ("ddp", "fsdp2", "ddp, blocks compiled", "fsdp2, blocks compiled"):
        result[how] = train(how)
    if RANK == 0:
        print("RESULT " + json.dumps(result))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
