"""moto's S3, one request at a time: ``python serve_moto.py PORT``.

By itself moto looks whether an object is there and creates it in two steps, between which another
thread of its may create it as well: of 120 keys for which 16 processes raced, 9 had two winners.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple


def main(port: int) -> None:
    application = DomainDispatcherApplication(create_backend_app)
    lock = threading.Lock()

    def one_at_a_time(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with lock:
            answer: Iterable[bytes] = application(environ, start_response)
            return answer

    run_simple("127.0.0.1", port, one_at_a_time, threaded=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
