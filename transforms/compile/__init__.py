"""Compile family (TN3xx): torch.compile and what runs inside its regions."""
