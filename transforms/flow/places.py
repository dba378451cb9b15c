"""Steps of data flow inside one file, forward and backward, and the words that they are said in."""

from __future__ import annotations

from transforms.flow.backward import Backward
from transforms.flow.forward import Forward
from transforms.flow.locations import names_device, option_destination
from transforms.flow.steps import Origin, Place, Sink

__all__ = ["Origin", "Place", "Places", "Sink", "names_device", "option_destination"]


class Places(Forward, Backward):
    """Forward and backward steps of one file."""
