"""The ``parquet`` crate on the columns of the checkpoint, on one thread, keeping every row."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from engines import Lister, MissingError
from engines._log import parts

ROOT = Path(__file__).resolve().parents[3]


class Engine(Lister):
    title = "bare decode"
    floor = True
    child = True

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        self.program = target / os.environ.get("BENCH_PROFILE", "dist") / "bare-decode"
        if not self.program.is_file():
            raise MissingError(
                f"no program {self.program.name} of this profile; `make bench` builds it"
            )
        self.checkpoint, _ = parts(uri)

    def version(self) -> str:
        lock = (ROOT / "Cargo.lock").read_text()
        match = re.search(r'name = "parquet"\nversion = "(.+)"', lock)
        return f"parquet crate {match[1] if match else '-'}"

    def listed(self, *columns: str) -> int:
        command = [self.program, self.checkpoint, *columns]
        return int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
