"""Device family (TN1xx): where tensors live."""
