"""Run plainly (argument cpu) and on the stand-in (argument neuron): small trainings whose losses must agree."""

import json
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("mask", torch.tril(torch.ones(context, context, dtype=torch.bool)))

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        weights = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        weights = weights.masked_fill(~self.mask[:length, :length], float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary=64, width=32, layers=2, heads=4, context=16):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, context) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.token.weight

    def forward(self, ids, targets):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def batches(steps, seed=1, size=4, length=16, vocabulary=64):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        start = torch.randint(vocabulary, (size, 1), generator=generator)
        ids = (start + 3 * torch.arange(length + 1)) % vocabulary
        yield ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def train_mlp(device, steps=30, bfloat16=False):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 64), nn.LayerNorm(64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randn(steps, 32, 16, generator=torch.Generator().manual_seed(1))
    losses = []
    for x in data:
        with torch.autocast(device, dtype=torch.bfloat16, enabled=bfloat16):
            logits = model(x.to(device))
            assert logits.dtype == (torch.bfloat16 if bfloat16 else torch.float32)
            loss = F.cross_entropy(logits, x[:, :10].argmax(1).to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_gpt(device, compiled, steps=15):
    torch.manual_seed(0)
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    step = model
    if compiled:
        options = {"backend": "neuron", "dynamic": False} if device == "neuron" else {"backend": "aot_eager"}
        step = torch.compile(model, fullgraph=True, **options)
    losses = []
    for ids, targets in batches(steps):
        loss = step(ids.to(device), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    where = sys.argv[1]
    result = {
        "mlp": train_mlp(where),
        "mlp bfloat16": train_mlp(where, bfloat16=True),
        "gpt eager": train_gpt(where, compiled=False),
        "gpt compiled": train_gpt(where, compiled=True),
    }
    if where == "neuron":
        result["graphs"] = [m.graph_name for m in torch.neuron.get_dynamo_metrics()]
    print("RESULT " + json.dumps(result))
