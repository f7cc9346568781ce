"""A server on loopback in the role of GitHub's and GitLab's API for the comments of one pull request."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "secret"
_ON_A_PAGE = 2  # few, so that every list has several pages
_GITHUB_LIMIT = 65_536
# GitHub: /repos/me/model/issues/7/comments and /repos/me/model/issues/comments/3
# GitLab: /projects/7/merge_requests/7/notes and /projects/7/merge_requests/7/notes/3
_LIST = re.compile(r"^/repos/me/model/issues/7/comments$|^/projects/7/merge_requests/7/notes$")
_ONE = re.compile(r"/(?:issues/comments|merge_requests/7/notes)/(\d+)$")


@dataclass
class Comments:
    """The comments that the server has, and what it was asked."""

    address: str
    bodies: dict[int, str] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    readonly: bool = False

    def add(self, body: str) -> int:
        number = len(self.bodies) + 1
        self.bodies[number] = body
        return number


@contextmanager
def comment_server() -> Iterator[Comments]:
    comments = Comments("")

    class Handler(_Handler):
        kept = comments

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        comments.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield comments
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    kept: Comments

    def do_GET(self) -> None:
        if not self._is_allowed(writes=False):
            return
        asked = urlsplit(self.path)
        if not _LIST.match(asked.path):
            self._answer(404, {"message": "Not Found"})
            return
        page = int(parse_qs(asked.query).get("page", ["1"])[0])
        numbers = sorted(self.kept.bodies)[(page - 1) * _ON_A_PAGE :]
        headers = {}
        if len(numbers) > _ON_A_PAGE:
            following = f"{self.kept.address}{asked.path}?page={page + 1}"
            headers["Link"] = f'<{following}>; rel="next", <{following}>; rel="last"'
        self._answer(200, [self._comment(each) for each in numbers[:_ON_A_PAGE]], headers)

    def do_POST(self) -> None:
        if not self._is_allowed(writes=True):
            return
        body = self._body()
        if not _LIST.match(self.path):
            self._answer(404, {"message": "Not Found"})
        elif len(body) > _GITHUB_LIMIT and "/repos/" in self.path:
            self._answer(422, {"message": "body is too long"})
        else:
            self._answer(201, self._comment(self.kept.add(body)))

    def do_PATCH(self) -> None:
        self._update("/repos/")

    def do_PUT(self) -> None:
        self._update("/projects/")

    def _update(self, of_server: str) -> None:
        if not self._is_allowed(writes=True):
            return
        one = _ONE.search(self.path)
        number = int(one.group(1)) if one and of_server in self.path else 0
        body = self._body()
        if number not in self.kept.bodies:
            self._answer(404, {"message": "Not Found"})
            return
        self.kept.bodies[number] = body
        self._answer(200, self._comment(number))

    def _comment(self, number: int) -> dict[str, Any]:
        address = f"{self.kept.address}/repos/me/model/issues/comments/{number}"
        page = f"https://github.example/me/model/pull/7#issuecomment-{number}"
        body = self.kept.bodies[number]
        if "/projects/" in self.path:
            return {"id": number, "body": body}
        return {"id": number, "body": body, "url": address, "html_url": page}

    def _is_allowed(self, writes: bool) -> bool:
        self.kept.requests.append(f"{self.command} {urlsplit(self.path).path}")
        is_known = TOKEN in (
            self.headers.get("Authorization", "").removeprefix("Bearer "),
            self.headers.get("PRIVATE-TOKEN"),
        )
        if not is_known:
            self._answer(401, {"message": "Bad credentials"})
        elif writes and self.kept.readonly:
            self._answer(403, {"message": "Resource not accessible by integration"})
            return False
        return is_known

    def _body(self) -> str:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        return str(json.loads(text)["body"])

    def _answer(self, status: int, data: object, headers: dict[str, str] | None = None) -> None:
        text = json.dumps(data).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words: object) -> None:
        """Nothing on stderr."""
