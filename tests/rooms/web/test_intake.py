"""Intake alone: what each action means, and that no bytes can make it raise."""

import copy
import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core import facts as f
from app.core.digest import text_digest
from app.core.issue import IssueSnapshot
from app.core.news import Ignored, News, OnInstallation, OnIssue, OnPull, OnRepository, Seen, Trigger
from app.core.verb import Verb
from app.web.intake import READERS, Intake, Told, Unreadable
from app.web.reading import WhichLabels
from tests.fakes.webhook_examples import examples
from tests.rooms.web.conftest import commented, labeled

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
OUTSIDER = {"id": 12, "login": "outsider", "type": "User"}
BOT = {"id": 13, "login": "dispatcher[bot]", "type": "Bot"}


def intake(label: str = "countersign", bot_id: int | None = None) -> Intake:
    return Intake(label, bot_id, lambda: "r-aaaaaaaaaaaa")


def read(event: str, payload: Any, label: str = "countersign") -> Told | Ignored | Unreadable | WhichLabels:
    return intake(label).read(event, json.dumps(payload).encode(), NOW)


def the_news(event: str, payload: Any) -> News:
    told = read(event, payload)
    assert isinstance(told, Told), told
    (news,) = told.news
    return news


def the_fact(event: str, payload: Any) -> Any:
    return the_news(event, payload).fact


def without(payload: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name not in names}


@pytest.mark.parametrize(
    ("change", "stirs"),
    [
        ({}, OnIssue(501, 7)),
        ({"action": "pinned"}, OnIssue(501, 7)),
        ({"sender": BOT}, None),
        ({"sender": None}, None),
        ({"action": "pinned", "issue": "strange"}, None),
    ],
    ids=["ordinary words", "an action that is not followed", "a bot", "nobody", "strange"],
)
def test_whatever_people_do_on_an_issue_stirs_what_waits_there(change: dict[str, Any], stirs: OnIssue | None) -> None:
    ignored = read("issue_comment", commented("What a good idea.") | change)
    assert isinstance(ignored, Ignored) and ignored.stirs == stirs


def test_what_happens_on_a_pull_request_or_on_no_issue_stirs_nothing() -> None:
    on_pull = commented("What a good idea.")
    on_pull["issue"] = on_pull["issue"] | {"pull_request": {}}
    others = (("issue_comment", on_pull), ("label", labeled() | {"action": "created"}))
    for event, payload in others:
        ignored = read(event, payload)
        assert isinstance(ignored, Ignored) and ignored.stirs is None


def test_a_label_becomes_a_request_with_everything_it_says() -> None:
    news = the_news("issues", labeled(sender=OUTSIDER))
    assert news.subject == OnIssue(501, 7)
    assert news.seen == Seen(501, "mira/sizes", 901)
    assert isinstance(news.fact, f.Labelled)
    request = news.fact.request
    assert (request.run, request.installation_id, request.repository_id) == ("r-aaaaaaaaaaaa", 901, 501)
    assert request.author is not None and request.author.login == "mira"
    assert request.labeller is not None and request.labeller.login == "outsider"
    snapshot = IssueSnapshot(number=7, title="Sizes roll over late", body="A megabyte is said to be 1000.0 kB.")
    assert request.issue_digest == snapshot.digest()
    assert news.fact.at == NOW


@pytest.mark.parametrize(
    ("label", "word"),
    [
        ("countersign", ""),
        ("Countersign", ""),
        (" COUNTERSIGN ", ""),
        ("countersign:docs", "docs"),
        ("Countersign: Docs", "docs"),
    ],
)
def test_the_trigger_label_is_found_whatever_its_case_with_or_without_a_word(label: str, word: str) -> None:
    fact = the_fact("issues", labeled(label={"name": label}))
    assert (fact.request.label_word, fact.request.label) == (word, label)


@pytest.mark.parametrize(
    "label", ["countersigned", "my countersign", "countersign:", "countersign docs", "", "bug", "x:countersign"]
)
def test_a_label_that_only_resembles_the_trigger_is_none(label: str) -> None:
    assert isinstance(read("issues", labeled(label={"name": label})), Ignored)


@pytest.mark.parametrize("action", ["opened", "reopened", "assigned", "locked", "labelled", "LABELED", ""])
def test_an_issue_that_carries_the_trigger_label_opens_nothing_by_any_other_action(action: str) -> None:
    assert isinstance(read("issues", labeled(action=action)), Ignored)


def test_a_label_that_is_not_named_is_never_guessed_from_the_issue() -> None:
    assert isinstance(read("issues", without(labeled(), "label")), Ignored)
    assert isinstance(read("issues", labeled(label=None)), Ignored)


def test_lb_02_a_bot_that_labels_is_told_as_one() -> None:
    fact = the_fact("issues", labeled(sender=BOT))
    assert fact.request.labeller.is_bot


def test_nobody_is_made_up_for_a_sender_that_is_missing() -> None:
    assert the_fact("issues", without(labeled(), "sender")).request.labeller is None
    assert the_fact("issues", labeled(sender=None)).request.labeller is None
    assert the_fact("issues", labeled(sender={"type": "User"})).request.labeller is None


@pytest.mark.parametrize(
    "changes",
    [{"state": "closed"}, {"pull_request": {"url": "https://example.test"}}, {"pull_request": {}}],
)
def test_a_label_on_a_closed_issue_or_on_a_pull_request_opens_nothing(changes: dict[str, Any]) -> None:
    payload = labeled()
    payload["issue"] |= changes
    assert isinstance(read("issues", payload), Ignored)
    assert isinstance(read("pull_request", labeled(pull_request={"number": 7})), Ignored)


def test_a_locked_issue_opens_a_run_all_the_same() -> None:
    payload = labeled()
    payload["issue"] |= {"locked": True, "active_lock_reason": "spam"}
    assert isinstance(the_fact("issues", payload), f.Labelled)


def test_a_delivery_of_a_webhook_that_is_not_the_apps_opens_nothing() -> None:
    assert isinstance(read("issues", without(labeled(), "installation")), Ignored)


def unlabeled(left: list[str], **changes: Any) -> dict[str, Any]:
    payload = labeled(action="unlabeled", **changes)
    payload["issue"]["labels"] = [{"name": name} for name in left]
    return payload


def test_taking_the_label_off_is_news_and_so_is_deleting_it_from_the_repository() -> None:
    assert the_fact("issues", unlabeled(["bug"])).person.login == "mira"
    assert isinstance(the_fact("issues", without(unlabeled(["bug"]), "label")), f.LabelRemoved)


def test_taking_another_label_off_or_one_of_two_triggers_is_no_news() -> None:
    assert isinstance(read("issues", unlabeled([], label={"name": "bug"})), Ignored)
    assert isinstance(read("issues", without(unlabeled(["countersign"]), "label")), Ignored)
    assert isinstance(read("issues", unlabeled(["Countersign:docs"])), Ignored)


@pytest.mark.parametrize(("changed", "news"), [("title", True), ("body", True), ("labels", False)])
def test_an_edit_is_news_where_title_or_description_changed(changed: str, news: bool) -> None:
    payload = labeled(action="edited", changes={changed: {"from": "before"}})
    told = read("issues", payload)
    assert isinstance(told, Told) == news
    if news:
        snapshot = IssueSnapshot(number=7, title=payload["issue"]["title"], body=payload["issue"]["body"])
        assert the_fact("issues", payload).issue_digest == snapshot.digest()


def test_an_edit_that_does_not_say_what_changed_counts_as_one() -> None:
    assert isinstance(the_fact("issues", labeled(action="edited")), f.IssueChanged)


@pytest.mark.parametrize("action", ["closed", "deleted", "transferred"])
def test_an_issue_that_ends_says_how(action: str) -> None:
    assert the_fact("issues", labeled(action=action)).how == f.IssueEnd(action)


def test_a_command_carries_its_giver_and_a_digest_of_its_comment() -> None:
    fact = the_fact("issue_comment", commented("/revise use the stable branch\r\nplease"))
    assert isinstance(fact, f.CommandGiven)
    assert (fact.verb, fact.argument) == (Verb.REVISE, "use the stable branch please")
    assert (fact.person.login, fact.comment_id) == ("outsider", 4_300_000_007)
    assert fact.comment_digest == text_digest("/revise use the stable branch\nplease")


def test_a_misspelt_command_and_two_at_once_are_told_with_the_right_form() -> None:
    misspelt = the_fact("issue_comment", commented("/aprove"))
    assert (misspelt.written, misspelt.meant) == ("/aprove", "/approve")
    several = the_fact("issue_comment", commented("/approve\n/cancel"))
    assert (several.written, several.meant) == ("/approve and /cancel", "/approve or /cancel")


def test_the_authors_words_are_an_answer_and_another_persons_are_nothing() -> None:
    author = labeled()["issue"]["user"]
    said = commented("On 3.12.", sender=author)
    said["comment"]["user"] = author
    assert isinstance(the_fact("issue_comment", said), f.Answered)
    assert isinstance(read("issue_comment", commented("On 3.12.")), Ignored)


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("2026-03-04T05:06:07Z", NOW), ("2026-03-04T06:06:07+01:00", NOW), ("2026-03-04T05:06:07", None),
        ("yesterday", None), ("", None), (None, None),
    ],
)  # fmt: skip
def test_what_happened_keeps_githubs_own_time_of_it_where_that_is_one(
    written: str | None, read_as: datetime | None
) -> None:
    issue = labeled()["issue"] | {"updated_at": written}
    told = [
        the_news("issues", labeled(issue=issue)),
        the_news("issues", labeled(action="unlabeled", issue=issue | {"labels": []})),
        the_news("issues", labeled(action="edited", issue=issue)),
        the_news("issues", labeled(action="closed", issue=issue)),
    ]
    for body in ("/approve", "/aprove", "/approve\n\n/reject"):
        payload = commented(body)
        payload["comment"]["created_at"] = written
        told.append(the_news("issue_comment", payload))
    facts = [news.fact for news in told]
    assert [fact.happened_at for fact in facts if isinstance(fact, f.Happened)] == [read_as] * 7
    assert isinstance(facts[0], f.Labelled) and facts[0].request.labelled_at == read_as


def test_nobody_commands_through_a_bot_a_stranger_an_edit_or_an_account_that_is_gone() -> None:
    by_bot = commented("/approve", sender=BOT)
    by_bot["comment"]["user"] = BOT
    differing = commented("/approve", sender={"id": 99, "login": "mira", "type": "User"})
    gone = commented("/approve")
    gone["comment"]["user"] = None
    for payload in (by_bot, differing, gone, commented("/approve", action="edited"), commented(None)):
        assert isinstance(read("issue_comment", payload), Ignored)


@pytest.mark.parametrize(("sender", "told"), [(OUTSIDER, True), (BOT, True), ({"id": 77}, False), (None, False)])
def test_whoever_else_changes_a_comment_of_ours_is_told_of_and_our_own_edits_are_not(sender: Any, told: bool) -> None:
    ours = {"id": 77, "login": "countersign[bot]", "type": "Bot"}
    if sender is not None:
        sender = ours | sender if sender.get("id") == 77 else sender
    payload = commented("### Plan", action="edited", sender=sender)
    payload["comment"] |= {"user": ours, "node_id": "IC_1"}
    understood = read("issue_comment", payload)
    assert isinstance(understood, Told) is told
    if isinstance(understood, Told):
        fact = understood.news[0].fact
        assert isinstance(fact, f.PlanCommentChanged) and fact.person.login == sender["login"]


def test_a_comment_on_a_pull_request_is_no_command_for_an_issue() -> None:
    payload = commented("/approve")
    payload["issue"]["pull_request"] = {"url": "https://example.test"}
    assert isinstance(read("issue_comment", payload), Ignored)


@pytest.mark.parametrize(
    ("pull", "merged"),
    [
        ({"merged": True}, True),
        ({"merged": False, "merged_at": None}, False),
        ({"merged_at": "2026-03-04T05:06:07Z"}, True),
        ({}, False),
    ],
)
def test_a_pull_request_that_ends_says_whether_it_was_merged(pull: dict[str, Any], merged: bool) -> None:
    payload = labeled(action="closed", pull_request={"number": 8} | pull)
    news = the_news("pull_request", payload)
    assert news.subject == OnPull(501, 8)
    assert isinstance(news.fact, f.PullRequestEnded) and news.fact.merged is merged


def test_a_renamed_repository_is_known_by_its_new_name_and_a_transferred_one_is_looked_at_at_once() -> None:
    renamed = {"id": 501, "full_name": "mira/lengths"}
    for action in ("renamed", "transferred"):
        news = the_news("repository", {"action": action, "repository": renamed, "installation": {"id": 901}})
        seen = Seen(501, "mira/lengths", 901)
        assert news == News(OnRepository(501), None, seen, hurry=action == "transferred")


def test_what_is_out_of_reach_for_good_says_how() -> None:
    deleted = the_news("repository", {"action": "deleted", "repository": {"id": 501, "full_name": "mira/sizes"}})
    assert deleted.subject == OnRepository(501)
    uninstalled = the_news("installation", {"action": "deleted", "installation": {"id": 901}})
    assert uninstalled.subject == OnInstallation(901)
    removed = {"action": "removed", "repositories_removed": [{"id": n, "full_name": "a/b"} for n in (1, 2)]}
    told = read("installation_repositories", removed)
    assert isinstance(told, Told)
    assert [news.subject for news in told.news] == [OnRepository(1), OnRepository(2)]
    assert isinstance(read("installation_repositories", removed | {"repositories_removed": []}), Ignored)
    for news in (deleted, uninstalled, *told.news):
        assert isinstance(news.fact, f.RepositoryEnded) and news.fact.how.endswith(".")


def test_a_repository_that_came_back_or_to_another_owner_lets_what_waits_there_go_on() -> None:
    added = {"action": "added", "installation": {"id": 1}, "repositories_added": [{"id": 1, "full_name": "o/a"}]}
    told = read("installation_repositories", added)
    assert isinstance(told, Told)
    assert [(news.subject, news.fact, news.hurry) for news in told.news] == [(OnRepository(1), None, True)]
    assert isinstance(read("installation_repositories", added | {"repositories_added": []}), Ignored)
    moved = {"action": "transferred", "installation": {"id": 2}, "repository": {"id": 1, "full_name": "p/a"}}
    told = read("repository", moved)
    assert isinstance(told, Told)
    assert [(news.seen, news.hurry) for news in told.news] == [(Seen(1, "p/a", 2), True)]


def test_our_own_bot_is_not_listened_to_where_its_id_is_known() -> None:
    body = json.dumps(labeled(sender=BOT)).encode()
    assert isinstance(intake(bot_id=13).read("issues", body, NOW), Ignored)
    assert isinstance(intake(bot_id=14).read("issues", body, NOW), Told)


def test_a_title_with_nul_is_taken_as_it_came() -> None:
    """The ledger keeps any text, so nothing is cut from it here."""
    payload = labeled()
    payload["issue"]["title"] = "a\0b"
    assert the_fact("issues", payload).request.issue_title == "a\0b"


PAYLOADS = [(example.event, example.payload) for example in examples() if example.event in READERS]
PAYLOADS += [("issues", labeled()), ("issue_comment", commented("/approve"))]
STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=30),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["id", "login", "name", "type", "number", "from"]), st.integers(), max_size=3),
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a payload, but not below what is never read."""
    found = [at] if at else []
    if isinstance(value, dict) and len(at) < 3:
        for name, inner in value.items():
            found += places(inner, (*at, name))
    return found


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PAYLOADS), st.randoms(use_true_random=False), st.lists(STRANGE, min_size=1, max_size=3))
def test_no_change_of_a_payload_makes_the_intake_raise(
    chosen: tuple[str, Any], dice: random.Random, strange: list[Any]
) -> None:
    event, payload = chosen[0], copy.deepcopy(chosen[1]) | {"installation": {"id": 901}}
    for value in strange:
        *above, last = dice.choice(places(payload))
        holder = payload
        for name in above:
            holder = holder[name]
        if dice.random() < 0.4:
            del holder[last]
        else:
            holder[last] = value
    assert isinstance(read(event, payload, label="bug"), Told | Ignored | Unreadable | WhichLabels)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(READERS)), st.binary(max_size=200), st.integers(min_value=0, max_value=200))
def test_no_bytes_make_the_intake_raise(event: str, noise: bytes, where: int) -> None:
    body = json.dumps(labeled()).encode()
    for broken in (noise, body[:where], body[:where] + noise + body[where:]):
        assert isinstance(intake().read(event, broken, NOW), Told | Ignored | Unreadable | WhichLabels)


def test_a_renamed_label_is_asked_for_by_its_id_and_then_triggers_as_it_did() -> None:
    payload = labeled(label={"id": 9, "name": "ai-plan"})
    body = json.dumps(payload).encode()
    assert intake().read("issues", body, NOW) == WhichLabels(501, (9,))
    assert isinstance(intake().read("issues", body, NOW, {}), Ignored)
    assert isinstance(intake("other").read("issues", body, NOW, {9: "countersign"}), Ignored)
    told = intake().read("issues", body, NOW, {9: "countersign:docs"})
    assert isinstance(told, Told)
    fact = told.news[0].fact
    assert isinstance(fact, f.Labelled)
    request = fact.request
    assert (request.label, request.renamed_from, request.label_id) == ("ai-plan", "countersign:docs", 9)
    assert request.label_word == "docs"


def test_a_rename_is_kept_only_where_the_label_triggered_by_its_name() -> None:
    def renamed(before: Any, label: Any) -> Told | Ignored | Unreadable | WhichLabels:
        return read("label", labeled(action="edited", label=label, changes=before))

    told = renamed({"name": {"from": "Countersign"}}, {"id": 9, "name": "ai-plan"})
    assert isinstance(told, Told) and told.news[0].trigger == Trigger(501, 9, "Countersign", "ai-plan")
    assert told.news[0].fact is None
    lent = renamed({"name": {"from": "bug"}}, {"id": 9, "name": "Countersign"})
    assert isinstance(lent, Told) and lent.news[0].trigger == Trigger(501, 9, "bug")
    others: list[Any] = [{"name": {"from": "bug"}}, {"name": {}}, {"color": {"from": "ffffff"}}, {}, None]
    for before in others:
        assert isinstance(renamed(before, {"id": 9, "name": "ai-plan"}), Ignored), before
    assert isinstance(renamed({"name": 3}, {"id": 9, "name": "ai-plan"}), Unreadable)
