"""moto's S3, one request at a time: ``python serve_moto.py PORT [ACCEPTED]``.

With several requests at a time, moto checks for an object and creates it in two steps, between
which another of its threads may create it as well: of 120 keys for which 16 processes raced, 9 had
two winners.

Without ``ACCEPTED``, moto accepts any access key. ``ACCEPTED`` is a file with a line for each
accepted key: the key's id, and its session token if it has one. The file may change.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
from werkzeug.wrappers import Response


def main(port: int, accepted: Path | None = None) -> None:
    application = DomainDispatcherApplication(create_backend_app)
    lock = threading.Lock()

    def one_at_a_time(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if accepted and _key(environ) not in accepted.read_text().splitlines():
            refused = Response(_REFUSAL, 403, mimetype="application/xml")
            return refused(environ, start_response)
        with lock:
            answer: Iterable[bytes] = application(environ, start_response)
            return answer

    run_simple("127.0.0.1", port, one_at_a_time, threaded=True)


_REFUSAL = "<Error><Code>ExpiredToken</Code><Message>no such key is accepted</Message></Error>"


def _key(environ: dict[str, Any]) -> str:
    """Return the id of the key that a request is signed with, and its token."""
    signed = re.search("Credential=([^/]*)/", environ.get("HTTP_AUTHORIZATION", ""))
    token = environ.get("HTTP_X_AMZ_SECURITY_TOKEN", "")
    return f"{signed[1] if signed else ''} {token}".strip()


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(Path, sys.argv[2:]))
