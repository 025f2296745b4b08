"""What the branches of our drafts are called: derived from run and plan, so that they are found again."""

BRANCH_TRIES = 5
"""Names tried before giving up, where somebody else's branch has ours (case GT-01)."""


def branch_name(issue_number: int, run: str, plan_digest: str, attempt: int = 1) -> str:
    """The so-manieth name, from 1; never from the issue's number alone (case GT-01)."""
    name = f"countersign/issue-{issue_number}-{plan_digest[:8]}-{run.rsplit('-', 1)[-1][:6]}"
    return name if attempt == 1 else f"{name}-{attempt}"


def branch_names(issue_number: int, run: str, plan_digest: str) -> tuple[str, ...]:
    """Every name that a draft of this run and plan can have, in the order in which they are tried."""
    return tuple(branch_name(issue_number, run, plan_digest, attempt) for attempt in range(1, BRANCH_TRIES + 1))
