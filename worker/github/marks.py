"""The labels that an issue carries now, beside the one for which a run was begun."""

from app.core.run import Request
from worker.github.views import LabelView

Marks = tuple[LabelView | str, ...]


def carries(request: Request, labels: Marks) -> bool:
    """Whether the run's own label is still on its issue."""
    return any(_is_its_own(request, label) for label in labels)


def label_words(request: Request, labels: Marks) -> tuple[str, ...]:
    """What stands behind the colon of each trigger label that the issue carries; empty for the bare one."""
    known = (request.renamed_from or request.label).casefold()
    bare = known.removesuffix(f":{request.label_word}".casefold()) if request.label_word else None
    trigger = bare or known
    words = []
    for label in labels:
        name = _name(label).strip().casefold()
        if _is_its_own(request, label):
            words.append(request.label_word)
        elif name == trigger:
            words.append("")
        elif name.startswith(f"{trigger}:"):
            words.append(name.removeprefix(f"{trigger}:").strip())
    return tuple(dict.fromkeys(words))


def _name(label: LabelView | str) -> str:
    return label if isinstance(label, str) else label.name


def _is_its_own(request: Request, label: LabelView | str) -> bool:
    """By its id, which outlives a name (github-facts 4); by its name where an id is not known."""
    if request.label_id is not None and not isinstance(label, str) and label.id:
        return label.id == request.label_id
    return _name(label).lower() == request.label.lower()
