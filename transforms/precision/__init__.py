"""Precision family (TN2xx): autocast, gradient scaling and dtypes."""
