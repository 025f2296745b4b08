"""Models by their roles: a repository's choice stands in place of the template's, within the operator's list."""

import pytest

from app.core.policy import Models, Policy
from app.core.shelf import Shelf
from app.core.template import Crew
from app.core.verdict import Refused
from worker.duties.crewing import crew_of
from worker.settings import ModelSettings

LISTED = ModelSettings(api_key="k", planner="big", executor="middle", scout="little", others=("special",))
BUGFIX = Shelf(None).read("bugfix", "1.0.0")


def test_a_repository_s_models_stand_in_place_of_the_template_s_role_by_role() -> None:
    usual = crew_of(LISTED, BUGFIX, Policy())
    assert usual == Crew(planner="big", scout="little", executor="middle", reviewer="big")
    chosen = crew_of(LISTED, BUGFIX, Policy(models=Models(executor="strong", reviewer="special", scout="middle")))
    assert chosen == Crew(planner="big", scout="middle", executor="big", reviewer="special")


@pytest.mark.parametrize("models", [LISTED, None], ids=["listed", "no models"])
def test_a_model_that_is_not_on_the_operator_s_list_is_refused_with_who_asks(models: ModelSettings | None) -> None:
    refused = crew_of(models, BUGFIX, Policy(models=Models(planner="other")))
    words = "`models.planner`) asks for the model `other`" if models else "needs a model"
    assert isinstance(refused, Refused) and words in refused.reason
