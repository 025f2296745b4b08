"""Every command by every kind of person in every state, held against a table that was written to be read.

`!` it happens   `-` it is refused, aloud   `?` it is answered   `.` nothing happens and nothing is said
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from app.core import facts as f
from app.core.advance import advance
from app.core.digest import text_digest
from app.core.effects import Effect, LookUpAuthority, Purpose, React, ReplySaying, ReplyTopic, Say, Slot, SourceKind
from app.core.issue import Person
from app.core.owed import still_owed
from app.core.owners import Owned
from app.core.policy import Approving, Policy
from app.core.run import Proposed, State
from app.core.verb import Verb
from app.core.verdict import Allowed, Refused
from app.web.intake import Intake, Told
from tests.fakes.facts import START, a_pull, a_request, drafted, found, labelled, sha

POLICY = Policy(approve=Approving(code_owners="may"))
"""The defaults, but that code owners of everything may approve: else they would be readers here."""

PEOPLE: dict[str, tuple[dict[str, Any] | None, str, str]] = {
    "none": ({"id": 101, "login": "nobody", "type": "User"}, "none", "none"),
    "read": ({"id": 102, "login": "reader", "type": "User"}, "read", "read"),
    "triage": ({"id": 103, "login": "sorter", "type": "User"}, "read", "triage"),
    "write": ({"id": 104, "login": "writer", "type": "User"}, "write", "write"),
    "maintain": ({"id": 105, "login": "keeper", "type": "User"}, "write", "maintain"),
    "admin": ({"id": 106, "login": "admin", "type": "User"}, "admin", "admin"),
    "custom": ({"id": 107, "login": "built-on-write", "type": "User"}, "write", "release-captain"),
    "bot": ({"id": 108, "login": "robot[bot]", "type": "Bot"}, "write", "write"),
    "ghost": (None, "none", "none"),
    "author": ({"id": 110, "login": "author", "type": "User"}, "read", "read"),
    "labeller": ({"id": 111, "login": "labeller", "type": "User"}, "read", "triage"),
    "owner": ({"id": 112, "login": "owner", "type": "User"}, "read", "read"),
}
"""What GitHub sends of each, their permission, and their role. The author and the labeller have no more than that."""

AUTHOR, LABELLER = Person(id=110, login="author"), Person(id=111, login="labeller")
OWNERS = (Owned(path="src/sizes.py", count=1, owners=("@owner",)),)
COMMENT, NODE = 4_300_000_900, "IC_plan"
SHOWN = "**Steps**\n\n- [x] **1. Change** `a`\n- [x] **2. Change** `b`"
OURS = {"id": 120, "login": "countersign[bot]", "type": "Bot"}

TABLE = """
act              states                                       nrtwmacbgalo
/approve         proposed drafting                            ---!!!!..--!
/approve         else                                         -------..---
/revise          asks proposed                                ---!!!!..---
/revise          else                                         -------..---
/refresh         asks proposed expired failed unplanned       ---!!!!..---
/refresh         else                                         -------..---
/reject          published expired failed unplanned cancelled -------..---
/reject          else                                         ---!!!!..-!-
/answer          asks                                         ---!!!!..!--
/answer          else                                         -------..---
/cancel          published expired failed unplanned cancelled -------..---
/cancel          else                                         ---!!!!..-!-
/retry           failed                                       ---!!!!..--!
/retry           unplanned                                    ---!!!!..---
/retry           else                                         -------..---
/status          else                                         ???????..???
/why             else                                         ???????..???
/help            else                                         ???????..???
/approve steps 1 proposed drafting                            ---!!!!..--!
/approve steps 1 else                                         -------..---
👍                proposed drafting                            ...!!!!....!
👍                else                                         ............
untick           approved                                     !!!!!!!!.!!!
untick           proposed drafting                            ---!!!!-.--!
untick           else                                         ............
a comment        asks                                         .........!..
a comment        else                                         ............
"""


def _told(state: State | None, *told: f.Fact) -> State:
    for fact in told:
        outcome = advance(state, fact)
        assert not isinstance(outcome, Refused), outcome
        state = outcome.state
    assert state is not None
    return state


def _look(purpose: Purpose, **more: Any) -> LookUpAuthority:
    maintainer = Person(id=105, login="keeper")
    given: dict[str, Any] = {"key": "k", "purpose": purpose, "person": maintainer, "source": SourceKind.COMMENT}
    return LookUpAuthority(**(given | {"source_id": 1} | more))


def _states() -> dict[str, State]:
    request = a_request().model_copy(update={"author": AUTHOR, "labeller": LABELLER})
    let = found(_look(Purpose.LABEL, source=SourceKind.LABEL), START, policy=POLICY, permission="write")
    wanted = _told(None, labelled(request), let)
    posted = f.Said(
        at=START, slot=Slot.PLAN, plan_version=1, comment_id=COMMENT, node_id=NODE, comment_digest=text_digest(SHOWN)
    )
    proposed = _told(wanted, drafted(1, START), posted)
    maintains = {"policy": POLICY, "permission": "write", "role_name": "maintain", "plan_version": 1}
    approved = _told(proposed, found(_look(Purpose.APPROVE), START, **maintains))
    digest, spent = sha("plan 1"), drafted(1, START).spent
    done = f.StepsDone(at=START, plan_digest=digest, patch_ref=sha("p"), report_ref=sha("r"), spent=spent)
    answered = f.QuestionsAnswered(at=START, plan_digest=digest, findings_ref=sha("f"), spent=spent)
    built = _told(approved, done)
    return {
        "wanted": wanted,
        "asks": _told(wanted, f.InputNeeded(at=START, version=1, question="Which?", spent=spent)),
        "proposed": proposed,
        "drafting": _told(proposed, found(_look(Purpose.REVISE), START, **maintains)),
        "approved": approved,
        "built": built,
        "reporting": _told(approved, answered),
        "published": _told(built, f.DraftOpened(at=START, plan_digest=digest, pull=a_pull())),
        "expired": _told(proposed, f.Expired(at=drafted(1, START).expires_at)),
        "failed": _told(approved, f.ExecutionFailed(at=START, plan_digest=digest, reason="It is odd.")),
        "unplanned": _told(wanted, f.PlanNotPossible(at=START, version=1, reason="Nothing was found.")),
        "cancelled": _told(proposed, f.IssueEnded(at=START, how=f.IssueEnd.CLOSED, person=None)),
    }


STATES = _states()
_INTAKE = Intake("countersign", None, lambda: "r-aaaaaaaaaaaa")


def _comment(user: dict[str, Any] | None, body: str) -> f.Fact | None:
    """What GitHub's delivery of a comment comes to, as the web process reads it."""
    return _read(_payload({"id": 4_300_000_950, "body": body, "user": user}, user) | {"action": "created"})


def _payload(comment: dict[str, Any], sender: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "issue": {"number": 7, "title": "t", "body": "b", "user": PEOPLE["author"][0]},
        "comment": comment,
        "repository": {"id": 5, "full_name": "acme/widgets"},
        "installation": {"id": 6},
        "sender": sender,
    }


def _read(payload: dict[str, Any]) -> f.Fact | None:
    told = _INTAKE.read("issue_comment", json.dumps(payload).encode(), START)
    return told.news[0].fact if isinstance(told, Told) else None


def _person(user: dict[str, Any] | None) -> Person | None:
    return None if user is None else Person(id=user["id"], login=user["login"], is_bot=user["type"] == "Bot")


def _thumb(user: dict[str, Any] | None) -> f.Fact | None:
    person = _person(user)
    if person is None:
        return None
    return f.ThumbSeen(at=START, reaction_id=9, comment_id=COMMENT, person=person, created_at=START)


def _untick(user: dict[str, Any] | None) -> f.Fact | None:
    payload = _payload(
        {"id": COMMENT, "node_id": NODE, "body": SHOWN.replace("[x] **2", "[ ] **2"), "user": OURS}, user
    )
    return _read(payload | {"action": "edited"})


def _saying(body: str) -> Callable[[dict[str, Any] | None], f.Fact | None]:
    return lambda user: _comment(user, body)


ACTS: dict[str, Callable[[dict[str, Any] | None], f.Fact | None]] = {
    **{f"/{verb}": _saying(f"/{verb} it does" if verb is Verb.ANSWER else f"/{verb}") for verb in Verb},
    "/approve steps 1": _saying("/approve steps 1"),
    "👍": _thumb,
    "untick": _untick,
    "a comment": _saying("It has two."),
}


def _outcome(act: str, who: str, state: State) -> str:
    user, permission, role = PEOPLE[who]
    fact = ACTS[act](user)
    first = Refused("nothing") if fact is None else advance(state, fact)
    if isinstance(first, Refused):
        return "."
    looks = [one for one in first.effects if isinstance(one, LookUpAuthority)]
    if not looks:
        return _seen(state, first.state, first.effects)
    assert all(isinstance(still_owed(look, first.state), Allowed) for look in looks)
    stood = isinstance(first.state, Proposed) or looks[0].purpose is Purpose.RETRY
    answer = found(
        looks[0],
        START,
        policy=POLICY,
        permission=permission,
        role_name=role,
        owners=OWNERS if stood else (),
        plan_version=looks[0].plan_version,
        argument="steps 2" if act == "untick" else looks[0].argument,
    )
    second = advance(first.state, answer)
    return "." if isinstance(second, Refused) else _seen(state, second.state, second.effects)


def _seen(before: State, after: State, owed: tuple[Effect, ...]) -> str:
    """What somebody who looks on sees of it."""
    work = [one for one in owed if not isinstance(one, Say | React)]
    if after != before or work:
        return "!"
    topics = [one.saying.topic for one in owed if isinstance(one, Say) and isinstance(one.saying, ReplySaying)]
    if not topics:
        return "."
    return "?" if topics[0] in (ReplyTopic.HELP, ReplyTopic.WHY) else "-"


def _rows() -> Iterator[str]:
    for act in ACTS:
        for name, state in STATES.items():
            seen = "".join(_outcome(act, who, state) for who in PEOPLE)
            yield f"{act:<17} {name:<10} {seen}"


def _written() -> dict[str, str]:
    """The table, a row for each act and state; a row for `else` holds where no other names the state."""
    rows: dict[str, str] = {}
    for line in TABLE.strip().split("\n")[1:]:
        act, states, seen = line[:17].strip(), line[17:62].split(), line[62:].strip()
        for state in STATES if states == ["else"] else states:
            rows.setdefault(f"{act:<17} {state:<10}", seen)
    return rows


def test_the_table_says_what_every_command_of_everybody_leads_to_in_every_state() -> None:
    assert TABLE.strip().split("\n")[0].split() == ["act", "states", "".join(who[0] for who in PEOPLE)]
    written = _written()
    lived = {row[:28]: row[29:] for row in _rows()}
    assert {place: seen for place, seen in lived.items() if written.get(place) != seen} == {}
    assert written.keys() == lived.keys()
