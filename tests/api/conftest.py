"""Tables that several modules read."""

from __future__ import annotations

import pytest
from support import logs
from support.mixed import write_mixed


@pytest.fixture
def mixed(log: logs.LogBuilder) -> logs.LogBuilder:
    """A file in each of three partitions, in row groups of two rows, with a deleted row."""
    return write_mixed(log)
