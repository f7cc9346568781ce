"""The one error that users see: what happened, why, and what to type next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST_SUGGESTIONS = 4


class UnslowError(Exception):
    """Printed as `unslow: <what>: <why>. <next step>  (unslow explain <slug>)`; exit code 2."""

    def __init__(self, what: str, why: str, next_step: str, slug: str) -> None:
        super().__init__(what, why, next_step, slug)
        self.what, self.why, self.next_step, self.slug = what, why, next_step, slug

    def __str__(self) -> str:
        return f"{self.what}: {self.why}. {self.next_step}  (unslow explain {self.slug})"

    def as_json(self) -> dict[str, object]:
        """What `--format json` prints instead of a result; see report/schema-error.json."""
        error = {
            "slug": self.slug,
            "what": self.what,
            "why": self.why,
            "next_step": self.next_step,
        }
        return {"schema": 1, "error": error}


def reason_of(problem: OSError) -> str:
    """What the system says about an error, without its number and the path."""
    return problem.strerror or str(problem)


def cannot_write(target: object, problem: OSError, next_step: str) -> UnslowError:
    return UnslowError(f"cannot write {target}", reason_of(problem), next_step, "cannot-write")


def suggestion(name: str, known: Iterable[str]) -> str:
    """`Did you mean a or b?`, or nothing where nothing is similar."""
    names = list(known)
    close = difflib.get_close_matches(name, names, _MOST_SUGGESTIONS, cutoff=0.6)
    containing = [word for word in names if len(name) > 2 and name in word]
    found = list(dict.fromkeys([*close, *containing]))[:_MOST_SUGGESTIONS]
    return f"Did you mean {' or '.join(found)}?" if found else ""
