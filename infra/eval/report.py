"""The report of an evaluation: for the terminal, as JSON, and as one HTML page that needs nothing beside it."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from jinja2 import Environment

from app.core.blame import Whose
from app.core.paired import Compared, Judged
from app.shown.scores import RunScores
from infra.eval.folder import spent_on
from infra.eval.hidden import Worth
from infra.eval.play import Result
from infra.eval.running import shown

PLANNED = ("found", "missed", "extra", "cited", "checks", "planner")
WORKED = ("steps", "beside", "true", "unseen", "executor", "failure")
_HEADS = ("task", *PLANNED, *WORKED)

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Countersign evaluation</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
caption { text-align: left; font-weight: bold; padding: .3rem 0; }
th, td { padding: .3rem .6rem; text-align: left; border-bottom: 1px solid #8886; vertical-align: top; }
.wide { overflow-x: auto; }
</style></head><body><main>
<h1>Countersign evaluation</h1>
<dl>{% for name, value in made_with.items() %}<dt>{{ name }}</dt><dd>{{ value or "–" }}</dd>{% endfor %}</dl>
<table><caption>In all</caption><tbody>
{% for name, value in sums.items() %}<tr><th scope="row">{{ name }}</th><td>{{ value }}</td></tr>{% endfor %}
</tbody></table>
<div class="wide" role="region" aria-label="Tasks" tabindex="0">
<table><caption>Tasks</caption>
<thead><tr>{% for head in heads %}<th scope="col">{{ head }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in rows %}<tr>{% for cell in row %}{% if loop.first %}<th scope="row">{{ cell }}</th>
{% else %}<td>{{ cell }}</td>{% endif %}{% endfor %}</tr>{% endfor %}</tbody></table></div>
<table><caption>Whose failure</caption><thead><tr><th scope="col">task</th><th scope="col">whose</th>
<th scope="col">what</th></tr></thead>
<tbody>{% for one in failures %}<tr><th scope="row">{{ one[0] }}</th><td>{{ one[1] }}</td><td>{{ one[2] }}</td></tr>
{% else %}<tr><td colspan="3">Nothing failed.</td></tr>{% endfor %}</tbody></table>
{% if silent %}<table><caption>Unseen tests that say nothing here, and by which nobody is judged</caption><thead><tr>
<th scope="col">task</th><th scope="col">they</th><th scope="col">because</th></tr></thead>
<tbody>{% for one in silent %}<tr><th scope="row">{{ one[0] }}</th><td>{{ one[1] }}</td><td>{{ one[2] }}</td></tr>
{% endfor %}</tbody></table>{% endif %}
{% if undone %}<h2>Not done</h2><ul>{% for name, why in undone.items() %}<li>{{ name }}: {{ why }}</li>{% endfor %}</ul>
{% endif %}</main></body></html>"""


def as_text(results: Mapping[str, Result], undone: Mapping[str, str]) -> str:
    """The report for a terminal."""
    lines = [*table(_HEADS, [_row(one) for one in results.values()]), ""]
    lines += [f"{name}: {value}" for name, value in sums(results.values()).items()]
    failures = _failures(results.values())
    if failures:
        lines += ["", *table(("task", "whose", "what"), failures)]
    silent = _silent(results.values())
    if silent:
        lines += ["", "Unseen tests that say nothing here, and by which nobody is judged:"]
        lines += table(("task", "they", "because"), silent)
    lines += ["", *(f"Not done: {name}: {why}" for name, why in undone.items())] if undone else []
    return "\n".join(lines)


def as_json(made_with: Mapping[str, str], results: Mapping[str, Result], undone: Mapping[str, str]) -> str:
    """The report for programs."""
    told: dict[str, Any] = {
        "made_with": dict(made_with),
        "sums": sums(results.values()),
        "tasks": [one.model_dump(mode="json") | {"figures": one.scores.figures()} for one in results.values()],
        "undone": dict(undone),
    }
    return json.dumps(told, indent=1, ensure_ascii=False)


def as_html(made_with: Mapping[str, str], results: Mapping[str, Result], undone: Mapping[str, str]) -> str:
    """The report as a page."""
    page = Environment(autoescape=True).from_string(_PAGE)
    return page.render(
        made_with=made_with,
        sums=sums(results.values()),
        heads=_HEADS,
        rows=[_row(one) for one in results.values()],
        failures=_failures(results.values()),
        silent=_silent(results.values()),
        undone=undone,
    )


def sums(results: Iterable[Result]) -> dict[str, str]:
    """Means and counts over all tasks, each over those of which it is known."""
    all_ = list(results)
    told = {"tasks": str(len(all_)), "cost": f"${spent_on(all_):.2f}"}
    for name in dict.fromkeys(name for one in all_ for name in one.scores.figures()):
        told[name] = mean_of(name, [one.scores for one in all_])
    whose = Counter(one.scores.blame.whose for one in all_)
    told["failures of the planner"] = str(whose[Whose.PLANNER])
    told["failures of the executor"] = str(whose[Whose.EXECUTOR])
    told["of neither"] = str(whose[Whose.NEITHER])
    worth = Counter(one.unseen.worth for one in all_ if one.unseen)
    told["unseen tests not usable here"] = str(worth[Worth.NOT_USABLE])
    told["unseen tests that prove nothing"] = str(worth[Worth.PROVE_NOTHING])
    return told


def mean_of(figure: str, scores: Sequence[RunScores]) -> str:
    """A share of passed, or a mean, and over how many."""
    known = [value for one in scores if (value := one.figures()[figure]) is not None]
    if not known:
        return "not known"
    if all(isinstance(value, bool) for value in known):
        return f"{sum(known)} of {len(known)}"
    return f"{fmean(known):.2f} over {len(known)}"


def compared(before: Mapping[str, Result], after: Mapping[str, Result], found: Sequence[Compared]) -> str:
    """The comparison of two results for a terminal: what was compared, the figures, and each in a sentence."""
    heads = ("figure", "tasks", "before", "after", "differing", "p", "judged")
    rows = [
        (one.figure, str(one.tasks), f"{one.before:.2f}", f"{one.after:.2f}", str(one.differing), f"{one.p:.4f}",
         str(one.judged))
        for one in found
    ]  # fmt: skip
    worse = [one.figure for one in found if one.judged is Judged.WORSE]
    end = f"Worse by more than noise: {', '.join(worse)}." if worse else "Nothing is worse by more than noise."
    sets = [f"Before: {_made_by(before)}", f"After: {_made_by(after)}", ""]
    return "\n".join([*sets, *table(heads, rows), "", *map(in_words, found), "", end])


def _made_by(results: Mapping[str, Result]) -> str:
    """The templates and models of these results."""
    scores = [one.scores for one in results.values()]
    templates = ", ".join(sorted({one.template for one in scores if one.template})) or "no template"
    models = "; ".join(sorted({one.models for one in scores if one.models})) or "not known, since there is no plan"
    return f"{len(scores)} tasks, by {templates}, with these models: {models}"


def in_words(one: Compared) -> str:
    """What the comparison of one figure says."""
    moved = f"{one.figure}: {one.before:.2f} before and {one.after:.2f} after, on {one.tasks} of the same tasks."
    if one.judged is Judged.TOO_FEW:
        return f"{moved} That is too few to tell: not even a difference in every one of them would be more than chance."
    chance = f"Where nothing differs, so much comes about by chance in {one.p:.1%} of comparisons"
    if one.judged is Judged.NOISE:
        return f"{moved} That is no more than noise. {chance}." if one.differing else f"{moved} They do not differ."
    return f"{moved} That is {one.judged}, by more than noise. {chance}."


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines in columns."""
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (heads, *rows)
    ]


def _row(result: Result) -> tuple[str, ...]:
    return (result.task, *cells(result.scores))


def cells(scores: RunScores) -> tuple[str, ...]:
    """The figures of one run, in the order of the table's columns."""
    plan, work = scores.plan, scores.work
    planned = ("–",) * 5
    if plan is not None:
        counts = (_many(plan.found), _many(plan.missed), _many(plan.extra))
        relevant = "–" if plan.relevant is None else str(plan.relevant)
        planned = (*counts, f"{plan.held}/{plan.evidence}", f"{relevant}/{plan.checks}")
    worked = ("–",) * 4
    if work is not None:
        unseen = "–" if work.hidden is None else f"{work.hidden_passed}/{work.hidden}"
        worked = (f"{work.done}/{work.steps}", str(work.outside), f"{work.true}/{work.claims}", unseen)
    ends = (shown(plan.value() if plan else None), shown(work.value() if work else None))
    return (*planned, ends[0], *worked, ends[1], str(scores.blame.whose))


def _many(paths: Sequence[str] | None) -> str:
    return "–" if paths is None else str(len(paths))


def _failures(results: Iterable[Result]) -> list[tuple[str, str, str]]:
    return [
        (one.task, str(one.scores.blame.whose), "; ".join(one.scores.blame.why))
        for one in results
        if one.scores.blame.why
    ]


def _silent(results: Iterable[Result]) -> list[tuple[str, str, str]]:
    """The tasks whose unseen tests say less than they should, with what that makes them worth."""
    told = [(one.task, one.unseen) for one in results if one.unseen is not None and one.unseen.notes]
    return [(task, str(unseen.worth), " ".join(unseen.notes)) for task, unseen in told]
