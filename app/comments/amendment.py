"""The amendment comment: what an approved plan takes besides, and how to say yes to exactly the plan with it."""

from app.comments.deciding import beyond_one
from app.comments.markdown import code, inline
from app.comments.places import WHOLE
from app.comments.plan import criterion, planned_check, planned_step
from app.core.amending import Added, added
from app.core.digest import short
from app.core.plan import FileStep, Plan, PlanBudget
from app.core.policy import Policy
from app.core.run import Amended, Proposal


def render(before: Plan, after: Plan, proposal: Proposal, issue_url: str, policy: Policy | None = None) -> str:
    """The whole comment: the difference between the two plans and nothing else of them.

    `issue_url` is the issue's page, on which the comment of the plan before stands. Raises ValueError where the
    difference is not an amendment's.
    """
    made, amends = added(before, after), proposal.amends
    if amends is None or amends.digest != made.amends.plan:
        raise ValueError("the offer is not of this amendment")
    parts = [
        f"### Plan, version {after.version} · {code(short(proposal.digest))} · amends version {amends.version}",
        f"**Step {made.amends.step} takes more than the approved plan says.** {inline(made.amends.why, WHOLE)}",
        _approval(proposal, amends, policy),
        *_notices(proposal),
        *_difference(made),
        _the_rest(proposal, amends, issue_url),
    ]
    return "\n\n".join(part for part in parts if part)


def _approval(proposal: Proposal, amends: Amended, policy: Policy | None) -> str:
    more = beyond_one(policy, proposal)
    return (
        "> [!IMPORTANT]\n"
        f"> To approve exactly this plan, which is version {amends.version} with the difference below, comment "
        f"`/approve {short(proposal.digest)}` (or just `/approve`), or put a 👍 on this comment.\n"
        f"{f'> **{more}**{chr(10)}' if more else ''}"
        f"> {_done(amends)}\n"
        "> `/reject` ends the run, and what is done stays on the run's page as a patch; `/revise` and your words ask "
        f"for another plan, which begins anew. The offer stands until {proposal.expires_at:%Y-%m-%d %H:%M} UTC."
    )


def _done(amends: Amended) -> str:
    ids = [str(step.id) for step in amends.work.steps]
    if not ids:
        return f"The work is then taken up again, beginning with step {amends.step}."
    done = f"Step {ids[0]} is" if len(ids) == 1 else f"Steps {', '.join(ids[:-1])} and {ids[-1]} are"
    return f"{done} done and kept; the work then goes on with step {amends.step}."


def _notices(proposal: Proposal) -> list[str]:
    lines = "\n".join(f"- {inline(notice, WHOLE)}" for notice in proposal.notices)
    return [f"**Please note**\n\n{lines}"] if lines else []


def _difference(made: Added) -> list[str]:
    titled = (
        (f"Step {made.amends.step}, said anew", _said_anew(made)),
        ("Further steps, after all others", [_step(step) for step in made.steps]),
        ("Further checks, run by the box", [planned_check(check) for check in made.checks]),
        ("What will be true besides", [criterion(one) for one in made.acceptance]),
        (
            "Run first, since the plan had no check so far",
            [f"- {code(' '.join(words), 300_000)}" for words in made.setup],
        ),
        ("Further hosts the box may reach", [f"- {inline(host, WHOLE)}" for host in made.hosts]),
        ("Further protected paths that are touched", [f"- {inline(path, WHOLE)}" for path in made.protected_paths]),
        ("Hard limits", _limits(*made.budget) if made.budget else []),
    )
    return [f"**{title}**\n\n" + "\n".join(lines) for title, lines in titled if lines]


def _said_anew(made: Added) -> list[str]:
    if made.instead is None:
        return []
    was, now = made.instead
    return ["As approved:\n", _step(was), "\nNow:\n", _step(now)]


def _step(step: FileStep) -> str:
    """Without a box: an amendment is approved whole."""
    return planned_step(step, f"- **{step.id}.")


def _limits(was: PlanBudget, now: PlanBudget) -> list[str]:
    """Each limit that is another now; they are for the whole work, what is done of it included."""
    named = (
        ("dollars", was.usd, now.usd),
        ("model calls", was.calls, now.calls),
        ("minutes", was.minutes, now.minutes),
        ("files", was.files, now.files),
        ("changed lines", was.lines, now.lines),
    )
    return [f"- {what}: {new} instead of {old}" for what, old, new in named if new != old]


def _the_rest(proposal: Proposal, amends: Amended, issue_url: str) -> str:
    earlier = f"version {amends.version} ({code(short(amends.digest))})"
    if amends.comment_id is not None and issue_url:
        earlier = f"[{earlier}]({issue_url}#issuecomment-{amends.comment_id})"
    return (
        f"Everything else is as in {earlier}, to the letter. The digest {code(proposal.digest)} is of the whole plan, "
        "which the run's page shows in one piece."
    )
