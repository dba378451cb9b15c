"""What a list of requirements holds for CUDA alone. Source: package index pages and the tags of PyTorch's wheels."""

import re

CUDA_REQUIREMENTS = re.compile(
    rb"[+/]cu\d{2,3}\b"  # the local version and the index folder of CUDA wheels: torch==2.3.0+cu121
    rb"|^[ \t\"'-]*(?:nvidia-[\w-]+|flash[-_]attn|xformers|bitsandbytes|cupy[\w-]*|pycuda|apex|deepspeed|tensorrt"
    rb"|transformer[-_]engine|triton|onnxruntime-gpu|faiss-gpu[\w-]*|torch[-_]xla)\b",
    re.M | re.I,
)
"""Matches in a requirements file, or in the dependencies of a project file."""

REQUIREMENT_KINDS = frozenset({"requirements", "toml"})
"""Kinds of files that list requirements, by the words of discovery."""
