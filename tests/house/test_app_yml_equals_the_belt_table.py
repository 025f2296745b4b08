"""What the App asks for is what its belts reach, no more and no less."""

from pathlib import Path

import yaml

from app.core.asked import DESCRIPTION, HOME, NAME, WHY_EVENT, WHY_PERMISSION, Addresses, manifest
from app.core.belts import EVENTS, REACH, Belt, EffectKind, app_permissions, belt_of

APP = yaml.safe_load((Path(__file__).parents[2] / "app.yml").read_text("utf-8"))


def test_app_yml_asks_for_exactly_the_permissions_of_the_belt_table() -> None:
    assert APP["default_permissions"] == app_permissions()


def test_app_yml_subscribes_to_exactly_the_events_of_the_belt_table() -> None:
    assert APP["default_events"] == list(EVENTS)


def test_the_manifest_of_set_up_is_app_yml_and_gives_a_reason_for_each_thing_it_asks() -> None:
    hook = APP["hook_attributes"]["url"]
    made = manifest(NAME, Addresses(HOME, hook, "https://example.com/back", "https://example.com/in"))
    assert {name: made[name] for name in APP} == APP and APP["description"] == DESCRIPTION
    assert WHY_PERMISSION.keys() == app_permissions().keys()
    assert WHY_EVENT.keys() == set(EVENTS)
    assert all(why.endswith(".") and len(why) > 30 for why in (*WHY_PERMISSION.values(), *WHY_EVENT.values()))


def test_no_event_is_listed_that_github_sends_by_itself_and_refuses_in_a_manifest() -> None:
    assert not {"installation", "installation_repositories", "github_app_authorization"} & set(APP["default_events"])


def test_every_kind_of_effect_has_a_belt() -> None:
    assert set(REACH) == set(EffectKind)
    assert {belt_of(kind) for kind in EffectKind} == set(Belt)


def test_what_can_write_never_talks_to_a_model_and_what_talks_to_a_model_never_writes() -> None:
    for reach in REACH.values():
        writes = "write" in {*reach.permissions.values(), *reach.where_granted.values(), *reach.where_added.values()}
        assert not (writes and (reach.model or reach.box))


def test_what_an_operator_may_add_is_reading_and_is_not_asked_for() -> None:
    added = {name: level for reach in REACH.values() for name, level in reach.where_added.items()}
    assert set(added.values()) == {"read"}
    assert not added.keys() & APP["default_permissions"].keys()


def test_only_one_effect_may_write_contents_and_it_needs_a_grant() -> None:
    writers = [kind for kind, reach in REACH.items() if reach.permissions.get("contents") == "write"]
    assert writers == [EffectKind.OPEN_DRAFT]
    assert REACH[EffectKind.OPEN_DRAFT].needs.name == "GRANT"


def test_only_opening_a_draft_may_change_workflows_and_only_beside_what_it_always_holds() -> None:
    for kind, reach in REACH.items():
        assert "workflows" not in {**reach.permissions, **reach.where_granted, **reach.where_added}
        assert reach.with_workflows == ({"workflows": "write"} if kind is EffectKind.OPEN_DRAFT else {})
    assert "workflows" not in APP["default_permissions"]
