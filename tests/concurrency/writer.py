"""One process that commits many times: ``python writer.py TABLE NAME COMMITS [OPTIONS]``."""

from __future__ import annotations

import json
import sys

import deltareplay as dr


def main(uri: str, name: str, commits: int, options: str = "{}") -> None:
    table = dr.Table(uri, json.loads(options))
    for number in range(commits):
        path = f"{name}-{number}"
        with table.transaction(txn=(name, number), timeout=300) as transaction:
            transaction.add(path, size=number, stats={"numRecords": 1})
        assert transaction.version is not None
        if number % 4 == 3:  # every fourth file is removed again
            with table.transaction(
                "DELETE", isolation_level="SnapshotIsolation", timeout=300
            ) as transaction:
                transaction.read_files([path])
                transaction.remove(path)
        print(transaction.version, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
