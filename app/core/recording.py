"""Which process may record which facts, beside the belt table: on PostgreSQL a database role each, held to this."""

from collections.abc import Mapping
from types import MappingProxyType

WEB = "web"
MINT = "mint"
"""Reads all, and records no fact of a run."""

_TOLD = (
    "labelled",
    "labelled_again",
    "command_given",
    "command_unclear",
    "answered",
    "issue_changed",
    "issue_ended",
    "label_removed",
    "pull_request_ended",
    "repository_ended",
)
"""What people did on GitHub: told to the web process, or read by the publisher where nobody told it."""

RECORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        WEB: frozenset((*_TOLD, "plan_comment_changed")),
        MINT: frozenset[str](),
        "planner": frozenset(
            (
                "plan_drafted",
                "plan_not_possible",
                "split_proposed",
                "input_needed",
                "stalled",
                "effect_abandoned",
            )
        ),
        "executor": frozenset(
            (
                "step_kept",
                "repair_kept",
                "amendment_proposed",
                "steps_done",
                "questions_answered",
                "execution_failed",
                "execution_held",
                "approval_voided",
                "stalled",
                "effect_abandoned",
            )
        ),
        "publisher": frozenset(
            (
                *_TOLD,
                "authority_found",
                "thumb_seen",
                "said",
                "draft_opened",
                "pull_request_read",
                "draft_staged",
                "draft_unsettled",
                "draft_found",
                "publish_failed",
                "approval_voided",
                "expired",
                "stalled",
                "effect_abandoned",
            )
        ),
    }
)
"""By process, the kinds of facts that it may record. Beat opens no ledger."""
