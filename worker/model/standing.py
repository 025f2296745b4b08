"""Whether the API takes the key and knows a model, asked by a question that costs nothing."""

from app.core.budget import Spent
from worker.model.attempts import Access
from worker.model.line import Towards, line_towards
from worker.model.words import ModelError, ModelMisconfigured, ModelRejected, ModelUnavailable


def known(access: Access, name: str) -> None:
    """The API takes the key and knows the model (`GET /v1/models/{name}`). Raises `ModelMisconfigured` for a key or a
    name that it does not take, `ModelRejected` where it does not answer such a question, `ModelUnavailable` where it
    cannot be had now. Asked once; nothing is billed."""
    import anthropic

    failure: ModelError
    with line_towards(Towards.of(access.base_url)) as line:
        client = line.client(access.api_key, access.base_url, access.timeout_seconds)
        try:
            client.models.retrieve(name)
            return
        except anthropic.APIStatusError as error:
            failure = _of_status(error.status_code, name, str(error.api_message or "no message"))
        except anthropic.APIConnectionError as error:
            failure = ModelUnavailable(f"The model API is out of reach ({type(error).__name__}).", 1, Spent())
        except anthropic.APIError as error:
            failure = ModelRejected(f"The model API answered unreadably: {error.message}", 1, Spent())
    raise failure


def _of_status(status: int, name: str, said: str) -> ModelError:
    if status == 401:
        return ModelMisconfigured(f"The model API does not accept the key ({said}).", 1, Spent())
    if status == 403:
        return ModelMisconfigured(f"The key may not use {name} ({said}).", 1, Spent())
    if status == 404:
        return ModelMisconfigured(f"The model API does not know {name} ({said}).", 1, Spent())
    if status == 429 or status >= 500:
        return ModelUnavailable(f"The model API answered {status}: {said}", 1, Spent())
    return ModelRejected(f"The model API answered {status}: {said}", 1, Spent())
