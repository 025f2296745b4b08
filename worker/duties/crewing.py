"""Which model has which role in a plan's making and doing: the template's word, or the repository's in its place."""

from app.core.policy import POLICY_PATH, Policy
from app.core.template import Crew, Template
from app.core.verdict import Refused
from worker.settings import ModelSettings


def crew_of(models: ModelSettings | None, template: Template, policy: Policy) -> Crew | Refused:
    """The models by name, each of them on the operator's list; or which of them is not, and who asked for it."""
    if models is None:
        return Refused(
            f"The template `{template.name}` needs a model, and this installation has none.",
            "Templates that apply a rule work without.",
        )
    named: dict[str, str] = {}
    for role, word in template.models:
        own = getattr(policy.models, role)
        name = models.named(own or word)
        if name is None:
            asks = f"{POLICY_PATH} (`models.{role}`)" if own else f"The template `{template.name}`"
            words = f"{asks} asks for the model `{own or word}`."
            return Refused(words, "The operator's list of models does not hold it.")
        named[role] = name
    return Crew.model_validate(named)
