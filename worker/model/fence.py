"""Marks text from outside as data in a prompt. The prompts of plan_templates say what the marks mean."""

OPENS = "<<<data"
CLOSES = "data>>>"


def fenced(label: str, text: str) -> str:
    """The text between its marks, under a label. Whatever the text holds, it cannot close its fence.

    A mark inside is shown with a space in it; nothing else of the text is changed. The label becomes one line.
    """
    return f"{OPENS} {_unmarked(' '.join(label.split()))}\n{_unmarked(text)}\n{CLOSES}"


def _unmarked(text: str) -> str:
    return text.replace(CLOSES, "data> >>").replace(OPENS, "<< <data")
