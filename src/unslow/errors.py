"""The one error that users see: what happened, why, and what to type next."""

from __future__ import annotations


class UnslowError(Exception):
    """Printed as `unslow: <what>: <why>. <next step>  (unslow explain <slug>)`, with exit code 2."""

    def __init__(self, what: str, why: str, next_step: str, slug: str) -> None:
        super().__init__(what, why, next_step, slug)
        self.what, self.why, self.next_step, self.slug = what, why, next_step, slug

    def __str__(self) -> str:
        return f"{self.what}: {self.why}. {self.next_step}  (unslow explain {self.slug})"
