"""LibCST transforms that make PyTorch code written for CUDA or PyTorch/XLA run on AWS Trainium."""
