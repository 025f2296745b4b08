"""What past executions cost, for the estimate of the next one."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Any

from sqlalchemy import Row, select

from app.core.budget import Spent
from app.core.estimate import PastRun
from app.core.facts import (
    AmendmentProposed,
    ExecutionFailed,
    PlanDrafted,
    QuestionsAnswered,
    RepairKept,
    StepKept,
    StepsDone,
)
from app.ledger.engine import OnDatabase
from app.ledger.errors import RunLeftAside
from app.ledger.schema import facts, plans, runs
from app.ledger.written import fact_read

MOST_PAST_RUNS = 200
_MOST_FACTS = 8_000
_ENDS = ("steps_done", "questions_answered", "execution_failed")
_KINDS = ("plan_drafted", "step_kept", "repair_kept", "amendment_proposed", *_ENDS)


class History(OnDatabase):
    """Reading changes nothing."""

    def past_runs(self, template: str) -> tuple[PastRun, ...]:
        """The newest executions of this template's plans whose cost is known, at most 200; failed ones count as well.

        They are looked for among the newest 8,000 facts about planning and execution, whatever the template.
        """
        told = (
            select(facts.c.run_id, facts.c.body, runs.c.repository_id)
            .join(runs, runs.c.id == facts.c.run_id)
            .where(facts.c.kind.in_(_KINDS))
            .order_by(runs.c.opened_at.desc(), facts.c.run_id, facts.c.seq)
            .limit(_MOST_FACTS)
        )
        with self._database.reading() as connection:
            found = list(islice(_past(connection.execute(told).all(), template), MOST_PAST_RUNS))
            made = select(plans.c.digest, plans.c.body).where(plans.c.digest.in_({digest for digest, _ in found}))
            sizes = {row.digest: _files(row.body) for row in connection.execute(made)}
        return tuple(PastRun(past.repository_id, past.usd, sizes.get(digest)) for digest, past in found)


def _past(told: Iterable[Row[Any, Any, Any]], template: str) -> Iterator[tuple[str, PastRun]]:
    """Each execution with the digest of its plan."""
    for _, rows in groupby(told, key=lambda row: row.run_id):
        of_template: set[str] = set()
        kept = Spent()
        for row in rows:
            try:
                fact = fact_read(row.body, row.run_id)
            except RunLeftAside:
                # What it cost stands in words that only a newer version can read, or that nobody can.
                break
            if isinstance(fact, PlanDrafted) and fact.template is not None and fact.template.name == template:
                of_template.add(fact.digest)
            if isinstance(fact, StepKept | RepairKept | AmendmentProposed):
                kept = kept.plus(fact.spent)
            if isinstance(fact, AmendmentProposed) and fact.plan_digest in of_template:
                of_template.add(fact.digest)
            if not isinstance(fact, StepsDone | QuestionsAnswered | ExecutionFailed):
                continue
            spent, kept = fact.spent.plus(kept), Spent()
            if fact.plan_digest in of_template and spent.calls > 0 and spent.unpriced_calls == 0:
                yield fact.plan_digest, PastRun(row.repository_id, spent.usd)


def _files(body: bytes) -> int | None:
    estimate = json.loads(body).get("estimate")
    return None if estimate is None else int(estimate["files"])
