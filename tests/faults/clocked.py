"""Run one verb under libfaketime: ``python clocked.py TABLE VERB [ARGUMENT]``."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import deltareplay as dr


def main(uri: str, verb: str, argument: str = "") -> None:
    table = dr.Table(uri)
    output: dict[str, Any] = {"now": time.time()}
    if verb == "add":
        with table.transaction() as transaction:
            transaction.add(argument, size=1)
        output["version"] = transaction.version
    elif verb == "delete":
        output["version"] = table.delete(f"id = {argument}").version
    elif verb == "vacuum":
        output["files"] = table.vacuum(dry_run=False).files
    else:
        output["files"] = table.cleanup_log(dry_run=False).files
    print(json.dumps(output))


if __name__ == "__main__":
    main(*sys.argv[1:])
