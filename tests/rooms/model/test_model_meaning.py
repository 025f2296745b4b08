"""What each refusal of the model API is taken for, and that it says what to do; the vendor's own words."""

import pytest

from worker.model.meaning import declined, refused
from worker.model.words import ModelMisconfigured, ModelOverflow, ModelRejected

MODEL = "claude-opus-5-5"
SAID = [
    (400, "prompt is too long: 210000 tokens > 200000 maximum", ModelOverflow, "more to read"),
    (400, "input length and `max_tokens` exceed context limit: 1 + 2 > 2", ModelOverflow, "more to read"),
    (413, "Request exceeds the maximum size", ModelOverflow, "more to read"),
    (400, "Your credit balance is too low to access the API.", ModelMisconfigured, "Pay it up"),
    (400, "You have reached your specified API usage limits.", ModelMisconfigured, "Pay it up"),
    (402, "Payment required", ModelMisconfigured, "Pay it up"),
    (403, "There is an issue with your billing.", ModelMisconfigured, "Pay it up"),
    (401, "invalid x-api-key", ModelMisconfigured, "ANTHROPIC_API_KEY"),
    (400, "This organization has been disabled.", ModelMisconfigured, "ANTHROPIC_API_KEY"),
    (403, "Your API key may not use it.", ModelMisconfigured, "COUNTERSIGN_PLANNER_MODEL"),
    (404, f"model: {MODEL}", ModelMisconfigured, "COUNTERSIGN_PLANNER_MODEL"),
    (400, "max_tokens: 64000 > 8192, the maximum allowed number of output tokens", ModelMisconfigured, "reply"),
    (400, "messages: at least one message is required", ModelRejected, "(400)"),
]


@pytest.mark.parametrize(("status", "said", "kind", "advice"), SAID)
def test_each_refusal_is_told_apart_and_says_what_to_do(status: int, said: str, kind: type, advice: str) -> None:
    found = refused(status, MODEL, said)
    assert found is not None and found[0] is kind
    assert advice in found[1] and said in found[1]
    assert kind is ModelRejected or "`/re" in found[1]


@pytest.mark.parametrize("status", [403, 404])
def test_a_model_that_cannot_be_had_is_named_with_what_to_set(status: int) -> None:
    found = refused(status, MODEL, "no")
    assert found is not None and MODEL in found[1] and "a plan keeps the models that it names" in found[1]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_none_of_them_whatever_it_says(status: int) -> None:
    assert refused(status, MODEL, "prompt is too long; your credit balance is too low; has been disabled") is None


def test_a_refusal_to_go_on_says_that_asking_again_is_of_no_use() -> None:
    assert declined(MODEL, "refusal: cyber").startswith(f"{MODEL} refused to go on (refusal: cyber). Asked the same")
