"""A small convolutional network on synthetic images, in mixed precision: migrated."""

import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(32 * 4 * 4, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.head(self.drop(x.flatten(1)))


def synthetic(samples=256):
    generator = torch.Generator().manual_seed(7)
    images = torch.randn(samples, 3, 16, 16, generator=generator)
    labels = images.mean(dim=(2, 3)).argmax(1)
    return TensorDataset(images, labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--no-cuda", action="store_true")
    parser.add_argument("--save", default="")
    args = parser.parse_args()

    use_cuda = not args.no_cuda and (hasattr(torch, "neuron") and torch.neuron.is_available())
    device = torch.device("neuron" if use_cuda else "cpu")
    torch.manual_seed(1)

    model = Net().to(device)
    loader = DataLoader(synthetic(), batch_size=32, shuffle=True, num_workers=1, pin_memory=use_cuda)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = torch.amp.GradScaler("neuron", enabled=False)
    started = time.time()
    for epoch in range(args.epochs):
        model.train()
        for step, (images, labels) in enumerate(loader):
            images, labels = images.to("neuron", non_blocking=True), labels.to("neuron", non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device_type="neuron", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            if step % 4 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.6f}")
        torch.neuron.synchronize()
        print(f"epoch {epoch} took {time.time() - started:.2f}s, {torch.neuron.max_memory_allocated() / 2**20:.1f} MiB")
    if args.save:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, args.save)


if __name__ == "__main__":
    main()
