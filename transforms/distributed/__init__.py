"""Distributed family (TN4xx): process groups and collectives."""
