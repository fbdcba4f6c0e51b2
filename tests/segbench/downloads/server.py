"""A local HTTP server that misbehaves as it is told."""

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Behaviour:
    """What the server does with each request.

    `cut_after`: bytes after which the n-th answer is cut, one per request; 0 = not at all. `stalls`: how many answers
    stand still half way. `announce`: Content-Length of full answers, "" for none. `status`: answers that come first.
    """

    content: bytes
    cut_after: list[int] = field(default_factory=list)
    stalls: int = 0
    announce: str | None = None
    status: list[int] = field(default_factory=list)
    ranges: bool = True
    wrong_range: bool = False
    etag: str = '"v1"'
    redirect: str = ""
    chunked: bool = False
    encoding: str = ""
    others: dict[str, bytes] = field(default_factory=dict)
    requests: list[dict] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[str]:
    """Yield the address of a file on a server that behaves so."""
    handler = type("Handler", (_Handler,), {"behaviour": behaviour})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/file.bin"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    behaviour: Behaviour

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        told = self.behaviour
        told.requests.append(dict(self.headers))
        told.paths.append(self.path)
        if self.path in told.others:
            self._head(200, Content_Length=str(len(told.others[self.path])))
            self._write(told.others[self.path])
            return
        if told.redirect:
            self._head(302, Location=told.redirect, Content_Length="0")
            return
        if told.status:
            self._head(told.status.pop(0), Content_Length="0")
            return
        start = self._start()
        if start is None:
            self._head(416, Content_Length="0")
            return
        body = told.content[start:]
        headers = {"ETag": told.etag} if told.etag else {}
        if told.encoding:
            headers["Content_Encoding"] = told.encoding
        if start:
            first = start + 7 if told.wrong_range else start
            headers["Content_Range"] = f"bytes {first}-{len(told.content) - 1}/{len(told.content)}"
        length = str(len(body)) if told.announce is None or start else told.announce
        if told.chunked:
            self._head(200, Transfer_Encoding="chunked", **headers)
            self._write(b"%x\r\n%s\r\n" % (len(body), body) + (b"" if told.cut_after else b"0\r\n\r\n"))
            self.close_connection = True
            return
        self._head(206 if start else 200, **({"Content_Length": length} if length else {}), **headers)
        cut = told.cut_after.pop(0) if told.cut_after else 0
        if told.stalls:
            told.stalls -= 1
            self._write(body[: len(body) // 2])
            time.sleep(5.0)  # longer than any test waits
        else:
            self._write(body[:cut] if cut else body)
        self.close_connection = True

    def _start(self) -> int | None:
        asked = self.headers.get("Range", "")
        if (
            not asked
            or not self.behaviour.ranges
            or self.headers.get("If-Range", self.behaviour.etag) != self.behaviour.etag
        ):
            return 0
        start = int(asked.removeprefix("bytes=").partition("-")[0])
        return start if start < len(self.behaviour.content) else None

    def _head(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _write(self, data: bytes) -> None:
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            pass
