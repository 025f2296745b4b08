"""Which tools of a request are sent as strict, so that the API itself keeps their inputs to the schema.

Source: the vendor's page on structured outputs: at most 20 strict tools in a request, with at most 24 optional
fields in all of them together. Our own check of every input does not depend on it.
"""

from collections.abc import Sequence

from worker.model.schema import optional_fields
from worker.model.words import Tool

MOST_TOOLS = 20
MOST_OPTIONAL_FIELDS = 24


def strict_tools(tools: Sequence[Tool]) -> frozenset[str]:
    """The names of as many tools as the limits admit, those with the fewest optional fields first."""
    chosen: list[str] = []
    room = MOST_OPTIONAL_FIELDS
    for optional, tool in sorted(((optional_fields(tool.schema), tool) for tool in tools), key=lambda pair: pair[0]):
        if optional > room or len(chosen) == MOST_TOOLS:
            break
        room -= optional
        chosen.append(tool.name)
    return frozenset(chosen)
