"""GitHub's refusals, word for word as GitHub says them, become errors that say what happened and what to do."""

import time

import pytest

from tests.rooms.github.conftest import CANARY, Answer, Wire
from worker.github import errors
from worker.github.connection import Connection, Request
from worker.github.errors import GitHubError, LimitKind, RateLimited

SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
PRIMARY = "API rate limit exceeded for installation ID 12345."
WORKFLOW = (
    "refusing to allow a GitHub App to create or update workflow `.github/workflows/x.yml` "
    "without `workflows` permission"
)


def failed(message: str, **error: str) -> dict[str, object]:
    return {"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom"} | error | (
        {"message": message} if message else {})], "documentation_url": "https://docs.github.com"}  # fmt: skip


CATALOGUE = [
    (401, {"message": "Bad credentials"}, {}, errors.Unauthorized),
    (403, {"message": "This installation has been suspended"}, {}, errors.Suspended),
    (403, {"message": "Resource not accessible by integration"}, {}, errors.Forbidden),
    (403, {"message": "Unable to create comment because issue is locked."}, {}, errors.Locked),
    (403, {"message": "Repository was archived so is read-only."}, {}, errors.Archived),
    (404, {"message": "Not Found"}, {}, errors.NotFound),
    (410, {"message": "This issue was deleted"}, {}, errors.Gone),
    (410, {"message": "Issues are disabled for this repo"}, {}, errors.IssuesOff),
    (451, {"message": "Repository access blocked"}, {}, errors.Blocked),
    (403, {"message": "Repository access blocked"}, {}, errors.Blocked),
    (409, {"message": "Git Repository is empty."}, {}, errors.Conflict),
    (422, failed("Draft pull requests are not supported in this repository."), {}, errors.DraftUnsupported),
    (422, failed("A pull request already exists for mira:branch."), {}, errors.AlreadyExists),
    (422, {"message": "Reference already exists"}, {}, errors.AlreadyExists),
    (422, failed("", field="name", code="already_exists"), {}, errors.AlreadyExists),
    (422, failed("No commits between main and branch"), {}, errors.NoCommitsBetween),
    (422, failed("body is too long (maximum is 65536 characters)"), {}, errors.BodyTooLong),
    (422, failed("Body is too long"), {}, errors.BodyTooLong),
    (422, {"message": "Reference update failed"}, {}, errors.ReferenceUpdateFailed),
    (422, {"message": "Repository rule violations found\n\nCannot create ref due to creations being restricted."}, {},
     errors.ReferenceUpdateFailed),
    (422, failed("", field="head", code="invalid"), {}, errors.BranchNotSeen),
    (422, {"message": "Sorry, your request timed out. It's likely that your input was too large to process."}, {},
     errors.InputTooLarge),
    (422, {"message": WORKFLOW}, {}, errors.Forbidden),
    (404, {"message": WORKFLOW}, {}, errors.Forbidden),
    (422, {"message": "The permissions requested are not granted to this installation."}, {}, errors.Forbidden),
    (422, {"message": "Validation Failed", "errors": ["anything else"]}, {}, errors.Invalid),
    (400, {"message": "Problems parsing JSON"}, {}, errors.Invalid),
    (500, "<html>oops</html>", {}, errors.Broken),
    (502, {"message": "Server Error"}, {}, errors.Broken),
    (301, {"message": "Moved Permanently"}, {"Location": "{url}/repositories/1/issues/2"}, errors.Moved),
    (307, {"message": "Temporary Redirect"}, {"Location": "{url}/repositories/1/issues/2"}, errors.Moved),
    (204, None, {}, errors.NotUnderstood),
    (201, "no json", {}, errors.NotUnderstood),
]  # fmt: skip


@pytest.mark.parametrize("case", CATALOGUE)
def test_each_refusal_is_an_error_with_a_reason_and_a_remedy(
    wire: Wire, connection: Connection, case: tuple[int, object, dict[str, str], type[GitHubError]]
) -> None:
    status, body, headers, kind = case
    wire.prepare("POST /repos/mira/humanize/pulls", Answer(status, body, {"X-GitHub-Request-Id": "AB:1"} | headers))
    with pytest.raises(GitHubError) as caught:
        connection.write(Request("POST", "/repos/mira/humanize/pulls", body={"title": "t"}, expected=(201,)))
    assert type(caught.value) is kind
    assert caught.value.reason.endswith(".") or ":" in caught.value.reason
    assert caught.value.remedy
    assert "POST /repos/mira/humanize/pulls" in str(caught.value)
    assert caught.value.maybe_done is (kind in (errors.Broken, errors.NotUnderstood))
    assert len(wire.asked) == 1


def test_a_missing_permission_is_named(wire: Wire, connection: Connection) -> None:
    headers = {"X-Accepted-GitHub-Permissions": "issues=write; pull_requests=write"}
    refused = Answer(403, {"message": "Resource not accessible by integration"}, headers)
    wire.prepare("POST /x", refused)
    with pytest.raises(errors.Forbidden) as caught:
        connection.write(Request("POST", "/x", body={}))
    assert caught.value.needed == ("issues=write", "pull_requests=write")
    assert "issues=write or pull_requests=write" in caught.value.remedy


RESET_IN_90 = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "in 90 seconds"}
LIMITS = [
    (403, SECONDARY, {}, LimitKind.SECONDARY, 60, 60),
    (403, SECONDARY, {"Retry-After": "75"}, LimitKind.SECONDARY, 75, 75),
    (429, "Too Many Requests", {}, LimitKind.SECONDARY, 60, 60),
    (403, SECONDARY, {"X-RateLimit-Remaining": "4321"}, LimitKind.SECONDARY, 60, 60),
    (403, PRIMARY, RESET_IN_90, LimitKind.PRIMARY, 20, 95),
    (429, PRIMARY, RESET_IN_90, LimitKind.PRIMARY, 20, 95),
    (403, SECONDARY, RESET_IN_90, LimitKind.SECONDARY, 20, 95),
    (403, "You have triggered an abuse detection mechanism.", {}, LimitKind.SECONDARY, 60, 60),
    (429, SECONDARY, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, LimitKind.SECONDARY, 60, 60),
]


def _from_now(headers: dict[str, str]) -> dict[str, str]:
    """The same headers, with a reset that is reckoned when the test runs and not when it was collected."""
    return {name: str(int(time.time()) + 90) if value == "in 90 seconds" else value for name, value in headers.items()}


@pytest.mark.parametrize("case", LIMITS)
def test_limits_are_told_from_refusals_and_nobody_sleeps(
    wire: Wire, connection: Connection, case: tuple[int, str, dict[str, str], LimitKind, float, float]
) -> None:
    status, message, written, kind, at_least, at_most = case
    headers = _from_now(written)
    wire.prepare("POST /x", Answer(status, {"message": message}, headers))
    started = time.monotonic()
    with pytest.raises(RateLimited) as caught:
        connection.write(Request("POST", "/x", body={}))
    assert time.monotonic() - started < 1
    assert caught.value.kind is kind
    assert at_least <= caught.value.retry_after <= at_most
    assert not caught.value.maybe_done
    assert len(wire.asked) == 1


def test_a_permission_refusal_with_the_last_request_of_the_hour_is_no_limit(wire: Wire, connection: Connection) -> None:
    wire.prepare("POST /x", Answer(403, {"message": "Resource not accessible by integration"}, _from_now(RESET_IN_90)))
    with pytest.raises(errors.Forbidden):
        connection.write(Request("POST", "/x", body={}))


def test_a_clock_that_github_refuses_is_named_in_the_remedy(wire: Wire, connection: Connection) -> None:
    wire.prepare("GET /app", (401, {"message": "'Expiration time' claim ('exp') is too far in the future"}))
    with pytest.raises(errors.Unauthorized, match="clock"):
        connection.get("/app")


GRAPHQL = [
    ([{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}], errors.RateLimited),
    ([{"type": "RATE_LIMIT", "message": "API rate limit exceeded"}], errors.RateLimited),
    ([{"message": SECONDARY}], errors.RateLimited),
    ([{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}], errors.Forbidden),
    ([{"type": "NOT_FOUND", "message": "Could not resolve to a node"}], errors.NotFound),
    ([{"message": "Something went wrong while executing your query."}], errors.Broken),
    (
        [{"message": "Field 'x' doesn't exist on type 'Query'", "extensions": {"code": "undefinedField"}}],
        errors.Invalid,
    ),
    (["odd"], errors.Invalid),
]


@pytest.mark.parametrize(("said", "kind"), GRAPHQL)
def test_a_graphql_answer_with_errors_is_never_taken_for_success(
    wire: Wire, connection: Connection, said: list[object], kind: type[GitHubError]
) -> None:
    wire.prepare("POST /graphql", (200, {"data": None, "errors": said}))
    with pytest.raises(GitHubError) as caught:
        connection.graphql("query { viewer { login } }", {})
    assert type(caught.value) is kind
    assert not caught.value.maybe_done


def test_a_partial_graphql_answer_is_no_answer(wire: Wire, connection: Connection) -> None:
    timeout = [{"message": "Something went wrong while executing your query. This may be the result of a timeout"}]
    wire.prepare("POST /graphql", (200, {"data": {"nodes": []}, "errors": timeout}))
    with pytest.raises(errors.Broken):
        connection.graphql("query { nodes }", {})


def test_no_error_holds_the_token_although_github_repeats_it(wire: Wire, connection: Connection) -> None:
    wire.prepare("POST /x", (422, failed(f"token {CANARY} is odd, so is Authorization: Bearer {CANARY}")))
    with pytest.raises(errors.Invalid) as caught:
        connection.write(Request("POST", "/x", body={}))
    shown = repr(caught.value) + str(caught.value) + caught.value.reason + "".join(caught.value.messages)
    assert "is odd" in shown
    assert "A-b_c9" not in shown and "eyJ" not in shown
    assert caught.value.__context__ is None and caught.value.__cause__ is None
