"""pyarrow's compute functions, whose stubs do not know what arrays of unknown types return."""

from __future__ import annotations

from typing import Any

import pyarrow.compute

pc: Any = pyarrow.compute
