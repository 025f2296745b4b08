"""Marks text from outside as data in a prompt. The prompts of plan_templates say what the marks mean."""

OPENS = "<<<data"
CLOSES = "data>>>"


def fenced(label: str, text: str) -> str:
    """The text between its marks, under a label of ours. Whatever the text holds, it cannot close its fence.

    A mark inside the text is shown with a space in it; nothing else of the text is changed.
    """
    inside = text.replace(CLOSES, "data> >>").replace(OPENS, "<< <data")
    return f"{OPENS} {' '.join(label.split())}\n{inside}\n{CLOSES}"
