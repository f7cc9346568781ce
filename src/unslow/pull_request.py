"""The one comment that a CI job writes on its pull request (GitHub) or merge request (GitLab)."""

from __future__ import annotations

import hashlib
import json
import re
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from unslow.errors import UnslowError
from unslow.facts.json_object import JsonObject

_TIMEOUT = 30.0  # seconds for one request
_PER_PAGE = 100  # the most that both servers give
_NEXT_PAGE = re.compile(r'<([^>]+)>;\s*rel="?next"?')
_CUT = "\n\n*The rest is too long for a comment; see the files of the job.*\n"


@dataclass(frozen=True)
class Written:
    """What became of the comment."""

    action: str  # "added", "updated" or "none"
    url: str = ""


class _Refused(Exception):
    """The server did not do it: why, and the HTTP status if there is one."""

    def __init__(self, why: str, status: int = 0) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Server(ABC):
    """Where the comments of one pull request are."""

    comments: str  # the address that lists them, and that takes a new one
    token: str

    most_characters = 0
    method_of_update = ""
    permission = ""  # what the token must be allowed to do

    @abstractmethod
    def headers(self) -> Mapping[str, str]:
        """Who asks."""

    @abstractmethod
    def address(self, comment: JsonObject) -> str:
        """Where one comment can be changed."""


class GitHub(Server):
    most_characters = 65_536  # docs.github.com; a longer body is refused
    method_of_update = "PATCH"
    permission = "pull-requests: write"

    def headers(self) -> Mapping[str, str]:
        return {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }

    def address(self, comment: JsonObject) -> str:
        return str(comment["url"])


class GitLab(Server):
    most_characters = 1_000_000  # docs.gitlab.com
    method_of_update = "PUT"
    permission = "the scope api"

    def headers(self) -> Mapping[str, str]:
        return {"PRIVATE-TOKEN": self.token}

    def address(self, comment: JsonObject) -> str:
        return f"{self.comments}/{comment['id']}"


def server_of(environment: Mapping[str, str]) -> Server:
    """The pull request of this job, as the variables of GitHub and GitLab name it."""
    if environment.get("GITHUB_ACTIONS"):
        return _github(environment)
    if environment.get("GITLAB_CI"):
        return _gitlab(environment)
    raise _cannot(
        "this is not a job of GitHub or GitLab",
        "Run it in CI, where GITHUB_ACTIONS or GITLAB_CI is set.",
    )


def _github(environment: Mapping[str, str]) -> Server:
    event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    number = event.get("pull_request", {}).get("number")
    if number is None:
        raise _cannot("this job has no pull request", "Run it on: pull_request.")
    repository = environment["GITHUB_REPOSITORY"]
    address = f"{environment['GITHUB_API_URL']}/repos/{repository}/issues/{number}/comments"
    return GitHub(address, _token(environment, "GITHUB_TOKEN"))


def _gitlab(environment: Mapping[str, str]) -> Server:
    number = environment.get("CI_MERGE_REQUEST_IID")
    if not number:
        raise _cannot(
            "this job has no merge request",
            'Give the job the rule: $CI_PIPELINE_SOURCE == "merge_request_event".',
        )
    project = quote(environment["CI_PROJECT_ID"], safe="")
    address = f"{environment['CI_API_V4_URL']}/projects/{project}/merge_requests/{number}/notes"
    return GitLab(address, _token(environment, "UNSLOW_TOKEN"))


def _token(environment: Mapping[str, str], name: str) -> str:
    token = environment.get(name, "")
    if not token:
        raise _cannot("there is no token", f"Set {name} for this step.")
    return token


def write_comment(server: Server, text: str, key: str, only_update: bool = False) -> Written:
    """Change our comment of this key, or add it where there is none yet."""
    marker = f"<!-- unslow {hashlib.sha256(key.encode()).hexdigest()[:12]} -->"
    body = _fitting(f"{marker}\n{text}", server.most_characters)
    try:
        earlier = next(_ours(server, marker), None)
        if earlier is not None:
            address, method = server.address(earlier), server.method_of_update
            answer = _ask(server, method, address, body)
            return Written("updated", str(answer.get("html_url", "")))
        if only_update:
            return Written("none")
        answer = _ask(server, "POST", server.comments, body)
        return Written("added", str(answer.get("html_url", "")))
    except _Refused as problem:
        next_step = "The comparison is in the log and in the files of the job."
        if problem.status in (401, 403, 404):
            next_step = (
                f"Give its token {server.permission}; a pull request from a fork cannot have it."
            )
        raise _cannot(str(problem), next_step) from None


def _fitting(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most - len(_CUT)] + _CUT


def _ours(server: Server, marker: str) -> Iterator[JsonObject]:
    """Comments that begin with the marker: nobody's but ours, and not a quotation of ours."""
    page: str | None = f"{server.comments}?per_page={_PER_PAGE}"
    while page:
        comments, page = _page(server, page)
        for comment in comments:
            if str(comment.get("body", "")).startswith(marker):
                yield comment


def _page(server: Server, address: str) -> tuple[list[JsonObject], str | None]:
    """Comments, and the address of the next ones."""
    found, links = _request(server, "GET", address, None)
    following = _NEXT_PAGE.search(links)
    return json.loads(found), following.group(1) if following else None


def _ask(server: Server, method: str, address: str, body: str) -> JsonObject:
    answer, _ = _request(server, method, address, body)
    found: JsonObject = json.loads(answer)
    return found


def _request(server: Server, method: str, address: str, body: str | None) -> tuple[str, str]:
    """The text of the answer, and its header `Link`."""
    data = None if body is None else json.dumps({"body": body}).encode()
    headers = {**server.headers(), "Content-Type": "application/json", "User-Agent": "unslow"}
    request = urllib.request.Request(address, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            return answer.read().decode(), answer.headers.get("Link", "")
    except urllib.error.HTTPError as problem:
        why = f"the server answered {problem.code} {problem.reason}"
        raise _Refused(why, problem.code) from None
    except OSError as problem:  # no such host, no answer in time
        raise _Refused(str(getattr(problem, "reason", None) or problem)) from None


def _cannot(why: str, next_step: str) -> UnslowError:
    return UnslowError("cannot comment", why, next_step, "comment")
