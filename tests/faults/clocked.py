"""One verb under libfaketime: ``python clocked.py TABLE VERB [ARGUMENT]``."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import deltareplay as dr


def main(uri: str, verb: str, argument: str = "") -> None:
    table = dr.Table(uri)
    said: dict[str, Any] = {"now": time.time()}
    if verb == "add":
        with table.transaction() as transaction:
            transaction.add(argument, size=1)
        said["version"] = transaction.version
    elif verb == "delete":
        said["version"] = table.delete(f"id = {argument}").version
    elif verb == "vacuum":
        said["files"] = table.vacuum(dry_run=False).files
    elif verb == "cleanup_log":
        said["files"] = table.cleanup_log(dry_run=False).files
    else:
        table.checkpoint()
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
