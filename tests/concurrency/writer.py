"""One process that commits many times: ``python writer.py TABLE NAME COMMITS``."""

from __future__ import annotations

import sys

import deltareplay as dr


def main(uri: str, name: str, commits: int) -> None:
    table = dr.Table(uri)
    for number in range(commits):
        path = f"{name}-{number}"
        with table.transaction(txn=(name, number), timeout=300) as transaction:
            transaction.add(path, size=number, stats={"numRecords": 1})
        assert transaction.version is not None
        if number % 4 == 3:  # every fourth of the own files goes again
            with table.transaction(
                "DELETE", isolation_level="SnapshotIsolation", timeout=300
            ) as transaction:
                transaction.read_files([path])
                transaction.remove(path)
        print(transaction.version, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
