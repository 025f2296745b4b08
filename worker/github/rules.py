"""What the active rules of a branch ask, and which of them a commit of ours does not meet. Pure.

GitHub's answer for a branch does not say whether the App may pass a rule by (github-facts 124), and its refusal often
does not say which rule it was (125). So nothing is given up because of a rule; the rules choose among ways that are
equally good to us, and explain a refusal afterwards.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import regex
from msgspec import Struct, field

PATTERN_SECONDS = 0.2
"""A pattern that takes longer than this on a text of ours is not decided here."""

MEGABYTE = 1_048_576


class Rule(Struct, frozen=True):
    """One active rule of a branch, as `GET rules/branches/{branch}` tells it."""

    type: str
    parameters: dict[str, Any] | None = None
    ruleset_source: str = ""
    ruleset_id: int = field(default=0)

    def named(self) -> str:
        """Where a person finds it."""
        where = f" of {self.ruleset_source}" if self.ruleset_source else ""
        return f"ruleset {self.ruleset_id}{where}" if self.ruleset_id else f"a ruleset{where}"


@dataclass(frozen=True, slots=True)
class Offer:
    """What is to be pushed: a new branch with commits. `files` is path to size in bytes, of what is not deleted."""

    branch: str
    messages: tuple[str, ...]
    files: Mapping[str, int]


def asks_for_signatures(rules: tuple[Rule, ...]) -> bool:
    """True where every commit of the branch must be signed (github-facts 126)."""
    return any(rule.type == "required_signatures" for rule in rules)


def fitting(rules: tuple[Rule, ...], messages: tuple[str, ...]) -> str:
    """The first message that meets the rules on messages, or the first of all where none does."""
    asked = [rule for rule in rules if rule.type == "commit_message_pattern"]
    return next((one for one in messages if all(_meets(rule, one) is not False for rule in asked)), messages[0])


def unmet(rules: tuple[Rule, ...], offer: Offer) -> tuple[str, ...]:
    """A sentence for each rule that can be why GitHub refused the offer; the certain ones only, where there are any."""
    certain = tuple(sentence for rule in rules for sentence in _certain(rule, offer))
    return certain or tuple(sentence for rule in rules for sentence in _possible(rule, offer))


def _certain(rule: Rule, offer: Offer) -> Iterator[str]:
    asked = rule.parameters or {}
    where = rule.named()
    match rule.type:
        case "creation":
            yield f"Nobody may create the branch `{offer.branch}` ({where}), unless the ruleset lets the App pass."
        case "branch_name_pattern" if _meets(rule, offer.branch) is False:
            yield f"The name of the branch `{offer.branch}` {_wanted(rule)} ({where})."
        case "commit_message_pattern" if any(_meets(rule, one) is False for one in offer.messages):
            yield f"{_said(offer)} {_wanted(rule)} ({where})."
        case "file_path_restriction":
            globs = [str(one) for one in asked.get("restricted_file_paths") or ()]
            found = [path for path in offer.files if any(fnmatchcase(path, glob) for glob in globs)]
            yield from (f"Nobody may push `{path}` ({where})." for path in found)
        case "file_extension_restriction":
            endings = tuple(f".{str(one).lstrip('*.')}" for one in asked.get("restricted_file_extensions") or ())
            found = [path for path in offer.files if endings and path.endswith(endings)]
            yield from (f"Nobody may push files with the ending of `{path}` ({where})." for path in found)
        case "max_file_size":
            most = int(asked.get("max_file_size") or 0)
            found = [path for path, size in offer.files.items() if size > most * MEGABYTE]
            yield from (f"`{path}` is larger than {most} MB, the most that may be pushed ({where})." for path in found)
        case "max_file_path_length":
            most = int(asked.get("max_file_path_length") or 0)
            found = [path for path in offer.files if len(path) > most]
            yield from (f"The path `{path}` is longer than {most} characters ({where})." for path in found)


def _possible(rule: Rule, offer: Offer) -> Iterator[str]:
    where = rule.named()
    match rule.type:
        case "commit_author_email_pattern":
            yield f"The author's address of the App's commits {_wanted(rule)} ({where})."
        case "committer_email_pattern":
            yield f"The committer's address, which is GitHub's own, {_wanted(rule)} ({where})."
        case "branch_name_pattern" if _meets(rule, offer.branch) is None:
            yield f"The branch's name {_wanted(rule)} ({where})."
        case "commit_message_pattern" if any(_meets(rule, one) is None for one in offer.messages):
            yield f"{_said(offer)} {_wanted(rule)} ({where})."
        case "required_status_checks" if not (rule.parameters or {}).get("do_not_enforce_on_create"):
            yield f"Checks must have passed before a branch is created ({where})."
        case "required_deployments" | "code_scanning" | "workflows":
            yield f"A rule of the kind {rule.type.replace('_', ' ')} must be met first ({where})."


def _said(offer: Offer) -> str:
    return "The commit's message" if len(offer.messages) == 1 else "Each commit's message"


def _meets(rule: Rule, text: str) -> bool | None:
    """Whether the text meets the pattern; None where that cannot be said here."""
    asked = rule.parameters or {}
    operator, pattern = str(asked.get("operator", "")), str(asked.get("pattern", ""))
    match operator:
        case "starts_with":
            found = text.startswith(pattern)
        case "ends_with":
            found = text.rstrip().endswith(pattern)
        case "contains":
            found = pattern in text
        case "regex":
            try:
                found = regex.search(pattern, text, timeout=PATTERN_SECONDS) is not None
            except (regex.error, TimeoutError):
                return None
        case _:
            return None
    return found != bool(asked.get("negate"))


def _wanted(rule: Rule) -> str:
    asked = rule.parameters or {}
    words = {"starts_with": "start with", "ends_with": "end with", "contains": "contain", "regex": "match"}
    operator = words.get(str(asked.get("operator", "")), "fit")
    return f"must {'not ' if asked.get('negate') else ''}{operator} `{asked.get('pattern', '')}`"
