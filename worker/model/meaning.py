"""What the API's refusals mean and what to do about each: a status and the API's own words in, an error out. Pure.

The words are the vendor's (docs: API errors); a gateway that stands in its place may use others of the same meaning.
"""

from worker.model.words import ModelError, ModelMisconfigured, ModelOverflow, ModelRejected

_NAME_ANOTHER = (
    "Name another one in its setting (`COUNTERSIGN_PLANNER_MODEL`, `…_EXECUTOR_MODEL`, `…_SCOUT_MODEL`) or under "
    "`models` in the policy file, then `/refresh`: a plan keeps the models that it names."
)
_TOO_LONG = ("prompt is too long", "context limit", "context window", "context length")
_UNPAID = ("credit balance", "billing", "usage limit")
_DISABLED = ("has been disabled",)
_WORDY = ("maximum allowed number of output tokens",)
"""What is said with 400, beside what the status says: any of these words."""


def refused(status: int, model: str, said: str) -> tuple[type[ModelError], str] | None:
    """The error and its reason, advice included; None for what may pass, or has no advice of its own."""
    lower = said.lower()
    in_words = status in (400, 403)
    if status == 413 or (status == 400 and _any(_TOO_LONG, lower)):
        return ModelOverflow, too_long(model, said)
    if status == 402 or (in_words and _any(_UNPAID, lower)):
        mend = "Pay it up or have its limit raised, then `/retry`."
        return ModelMisconfigured, f"The model account cannot pay ({said}). Check its billing. {mend}"
    if status == 401 or (in_words and _any(_DISABLED, lower)):
        mend = "Check `ANTHROPIC_API_KEY`, start the belt again, then `/retry`."
        return ModelMisconfigured, f"The model API does not accept the key ({said}). {mend}"
    if status == 403:
        return ModelMisconfigured, f"The key may not use {model} ({said}). Check the key's permissions. {_NAME_ANOTHER}"
    if status == 404:
        why = "It was retired, its name is misspelt, or `ANTHROPIC_BASE_URL` is another API's."
        return ModelMisconfigured, f"The model API does not know {model} ({said}). {why} {_NAME_ANOTHER}"
    if status == 400 and _any(_WORDY, lower):
        what = f"{model} writes no replies as long as the template asks for ({said})"
        return ModelMisconfigured, f"{what}. Lower its `reply_tokens`. {_NAME_ANOTHER}"
    if status == 400:
        return ModelRejected, f"The model API rejected the request ({status}): {said}"
    return None


def too_long(model: str, said: str) -> str:
    """That a prompt, or a prompt and its reply, go beyond what the model reads at once."""
    return f"There is more to read than {model} reads at once ({said}). {_NAME_ANOTHER}"


def declined(model: str, because: str) -> str:
    """That the model refused to go on with the work."""
    advice = "Asked the same it would refuse again: word the issue otherwise, or have another model do it."
    return f"{model} refused to go on ({because}). {advice}"


def _any(words: tuple[str, ...], said: str) -> bool:
    return any(word in said for word in words)
