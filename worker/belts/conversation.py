"""The conversation on an issue, told apart: words of people who may decide here, and words of everybody else.

Who may decide is asked of GitHub, as the gate asks it, with the permission to read metadata that the planner's
token has. `author_association`, which stands in every comment, is no answer: it calls people members who have no
right in this repository, and maintainers contributors (github-facts 73). It only orders whom to ask about first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.core.issue import GHOST, Person
from app.core.policy import Policy
from app.core.standing import Somebody, is_among
from worker.evidence.untrusted import clean
from worker.github.reader import Reader
from worker.github.views import Account, CommentView

COMMENT_CHARACTERS = 8_000
DECIDING_CHARACTERS = 30_000
OTHER_CHARACTERS = 30_000
"""Each side has its own room: nobody can push a maintainer's words out by writing much."""

MOST_ASKED_ABOUT = 30
MOST_HIDDEN = 60
"""Hidden pieces that are told one by one: anybody may comment, and nobody makes a plan unreadable by it."""
_LIKELY = {"OWNER": 0, "MEMBER": 1, "COLLABORATOR": 1, "CONTRIBUTOR": 2}


@dataclass(frozen=True, slots=True)
class Remark:
    """One comment, cleaned. `decides` is true for somebody whom the policy lets approve, as GitHub said just now."""

    author: str
    at: datetime
    text: str
    decides: bool


@dataclass(frozen=True, slots=True)
class Conversation:
    """Comments, oldest first, and what is to be said of those that are not among them or were not asked about."""

    remarks: tuple[Remark, ...] = ()
    left_out: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """What a reader of the page could not have seen, and what was taken out (case PI-01)."""


def read_conversation(reader: Reader, comments: Sequence[CommentView], policy: Policy) -> Conversation:
    """People's comments; of a long conversation the newest of each side are kept (case PL-03)."""
    people = [one for one in comments if one.author is None or one.author.kind != "Bot"]
    deciders, unasked = _deciders(reader, people, policy)
    remarks: list[Remark] = []
    hidden: list[str] = []
    for comment in people:
        author = comment.author.login if comment.author else GHOST
        cleaned = clean(comment.body)
        hidden += [f"Hidden in the comment by {author}, and removed before planning: {one}" for one in cleaned.hidden]
        cut = "" if len(cleaned.text) <= COMMENT_CHARACTERS else "\n[… cut]"
        decides = comment.author is not None and comment.author.id in deciders
        remarks.append(Remark(author, comment.created_at, cleaned.text[:COMMENT_CHARACTERS] + cut, decides))
    told, left_out = _newest(remarks)
    if unasked:
        left_out.append(f"Of {unasked} more people GitHub was not asked whether they may decide; their words are data.")
    if len(hidden) > MOST_HIDDEN:
        more = len(hidden) - MOST_HIDDEN
        hidden = [*hidden[:MOST_HIDDEN], f"{more:,} more hidden pieces of text were removed from comments."]
    return Conversation(tuple(told), tuple(left_out), tuple(hidden))


def _deciders(reader: Reader, people: Sequence[CommentView], policy: Policy) -> tuple[frozenset[int], int]:
    """Ids of those who may approve here, and how many people were not asked about. No answer of GitHub is raised."""
    likely: dict[int, tuple[int, int, Account]] = {}
    for age, comment in enumerate(reversed(people)):
        account = comment.author
        if account is not None and account.kind == "User":
            rank = _LIKELY.get(comment.author_association, 3)
            first = likely.get(account.id, (rank, age, account))
            likely[account.id] = (min(rank, first[0]), first[1], account)
    asked = sorted(likely.values(), key=lambda one: one[:2])
    found = set()
    for _, _, account in asked[:MOST_ASKED_ABOUT]:
        permission = reader.permission_of(account.login)
        # A login that passed to another account carries nothing over (github-facts 85).
        is_theirs = permission.user_id == account.id
        somebody = Somebody(Person(id=account.id, login=account.login), permission.legacy, permission.role_name)
        if is_theirs and is_among(policy.approve, somebody):
            found.add(account.id)
    return frozenset(found), len(asked[MOST_ASKED_ABOUT:])


def _newest(remarks: Sequence[Remark]) -> tuple[list[Remark], list[str]]:
    room = {True: DECIDING_CHARACTERS, False: OTHER_CHARACTERS}
    told: list[Remark] = []
    dropped = {True: 0, False: 0}
    for remark in reversed(remarks):
        room[remark.decides] -= len(remark.text) + 80
        if room[remark.decides] < 0:
            dropped[remark.decides] += 1
        else:
            told.append(remark)
    words = {True: "by people who may decide here", False: "by others"}
    said = [
        f"{count} older comments {words[side]} are left out for length." for side, count in dropped.items() if count
    ]
    return told[::-1], said
