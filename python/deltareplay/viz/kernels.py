"""pyarrow's compute functions, with types that its stubs lack."""

from __future__ import annotations

from typing import Any

import pyarrow.compute

pc: Any = pyarrow.compute
