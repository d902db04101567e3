"""moto's S3, one request at a time: ``python serve_moto.py PORT [ACCEPTED]``.

moto checks whether an object exists and creates it in two steps. If it serves several requests at a
time, two of them can create the same object: of 120 objects for which 16 processes raced, 9 had two
winners.

Without ``ACCEPTED``, moto accepts any access key. ``ACCEPTED`` is a file with a line for each
accepted key: the key's id and, after a space, its session token if it has one. Every request reads
the file again.
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

    def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if accepted and _key(environ) not in accepted.read_text().splitlines():
            refusal = Response(_REFUSAL, 403, mimetype="application/xml")
            return refusal(environ, start_response)
        with lock:
            answer: Iterable[bytes] = application(environ, start_response)
            return answer

    run_simple("127.0.0.1", port, serve, threaded=True)


_REFUSAL = "<Error><Code>ExpiredToken</Code><Message>the key is not accepted</Message></Error>"


def _key(environ: dict[str, Any]) -> str:
    """Return the line of ``ACCEPTED`` for the key that signs a request."""
    credential = re.search("Credential=([^/]*)/", environ.get("HTTP_AUTHORIZATION", ""))
    token = environ.get("HTTP_X_AMZ_SECURITY_TOKEN", "")
    return f"{credential[1] if credential else ''} {token}".strip()


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(Path, sys.argv[2:]))
