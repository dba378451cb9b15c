"""A small GPT, compiled: migrated."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary=96, width=64, layers=2, heads=4, context=32):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.token.weight
        self.apply(self._init)

    def _init(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, ids, targets):
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.token(ids) + self.position(positions)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def batch(generator, size=8, length=32, vocabulary=96):
    start = torch.randint(vocabulary, (size, 1), generator=generator)
    ids = (start + 5 * torch.arange(length + 1)) % vocabulary
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def learning_rate(step, steps, peak=3e-3):
    return peak * 0.5 * (1 + math.cos(math.pi * step / steps))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--device", default="neuron")
    parser.add_argument("--checkpoint", default="")
    args = parser.parse_args()

    torch.manual_seed(1337)
    torch.neuron.manual_seed_all(1337)
    device_type = "neuron" if "neuron" in args.device else "cpu"
    model = GPT().to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
    compiled = torch.compile(model, backend="neuron", dynamic=False)
    generator = torch.Generator().manual_seed(3)
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args.steps)
        ids, targets = (t.pin_memory().to(args.device, non_blocking=True) for t in batch(generator))
        with torch.autocast(device_type=device_type, dtype=torch.bfloat16):
            loss = compiled(ids, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}, allocated {torch.neuron.memory_allocated() / 1e6:.1f} MB")
    if args.checkpoint:
        torch.save({"model": model.state_dict(), "step": args.steps, "args": vars(args)}, args.checkpoint)
        saved = torch.load(args.checkpoint, map_location=args.device)
        model.load_state_dict(saved["model"])


if __name__ == "__main__":
    main()
