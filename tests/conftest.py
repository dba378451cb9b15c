"""What all tests share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from migrate.cache import VARIABLE
from migrate.standin.build import cache_folder

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests() -> Iterator[None]:
    """Commands that the tests start never use what the user's cache knows, but for the built stand-in."""
    with tempfile.TemporaryDirectory() as folder:
        cache_folder().mkdir(parents=True, exist_ok=True)
        (Path(folder) / "standin").symlink_to(cache_folder())
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = folder
        yield
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
