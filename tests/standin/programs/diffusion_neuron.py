"""A small diffusion transformer on synthetic images, with an average of its weights: migrated."""

import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 4 * width))

    def forward(self, x, condition):
        shift1, scale1, shift2, scale2 = self.modulation(condition)[:, None].chunk(4, dim=-1)
        h = self.norm1(x) * (1 + scale1) + shift1
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x) * (1 + scale2) + shift2)


class Denoiser(nn.Module):
    def __init__(self, image=16, patch=4, width=64, layers=2, heads=4, timesteps=50):
        super().__init__()
        self.patchify = nn.Conv2d(3, width, patch, stride=patch)
        self.positions = nn.Parameter(torch.zeros(1, (image // patch) ** 2, width))
        self.time = nn.Embedding(timesteps, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.unpatchify = nn.ConvTranspose2d(width, 3, patch, stride=patch)

    def forward(self, x, t):
        x = self.patchify(x)
        batch, width, rows, columns = x.shape
        x = x.flatten(2).transpose(1, 2) + self.positions
        for layer in self.layers:
            x = layer(x, self.time(t))
        return self.unpatchify(x.transpose(1, 2).reshape(batch, width, rows, columns))


@torch.no_grad()
def update_average(average, model, decay=0.9):
    for a, p in zip(average.parameters(), model.parameters()):
        a.lerp_(p, 1 - decay)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()

    assert (hasattr(torch, "neuron") and torch.neuron.is_available()), "this script needs a GPU"
    device = torch.device("neuron")
    torch.neuron.set_device(0)
    torch.manual_seed(5)
    noise_generator = torch.Generator(device="neuron").manual_seed(11)
    model = Denoiser().to("neuron")
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    betas = torch.linspace(1e-4, 0.02, 50, device=device)
    kept = torch.cumprod(1 - betas, dim=0)
    for step in range(args.steps):
        images = torch.randn(8, 3, 16, 16).to(device)
        t = torch.randint(0, 50, (8,), device=device)
        noise = torch.randn(images.shape, device=images.device, generator=noise_generator)
        level = kept[t].view(-1, 1, 1, 1)
        noisy = level.sqrt() * images + (1 - level).sqrt() * noise
        loss = F.mse_loss(model(noisy, t), noise)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        update_average(average, model)
        print("step", step, "loss", loss.item(), "norm", norm.item())
    if loss.device.type == "neuron":
        torch.neuron.empty_cache()
    torch.save(average.state_dict(), "/dev/null")


if __name__ == "__main__":
    main()
