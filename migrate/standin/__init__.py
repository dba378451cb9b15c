"""The CPU stand-in for the `neuron` device, and `verify`, which runs programs on it.

`csrc/` and `inject/` work in the user's interpreter, with the user's torch. The other modules are the tool's side
and never import torch, nor anything of `inject/`.
"""
