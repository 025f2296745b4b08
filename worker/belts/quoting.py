"""Texts that were written elsewhere, as they stand inside an observation: cleaned, bounded, and marked line by line."""

from dataclasses import dataclass, field

from worker.evidence.untrusted import clean

MOST_HIDDEN = 10


@dataclass
class Quoting:
    """Quotes texts for one answer and gathers what was hidden in them."""

    hidden: list[str] = field(default_factory=list)

    def text(self, where: str, text: str, limit: int) -> str:
        """Up to `limit` characters of a text, each line behind `> `; empty for a blank text."""
        cleaned = self._cleaned(where, text).strip()
        if not cleaned:
            return ""
        cut = f"\n[… {len(cleaned) - limit:,} more characters]" if len(cleaned) > limit else ""
        return "\n".join(f"> {line}" for line in (cleaned[:limit] + cut).split("\n"))

    def words(self, where: str, text: str, limit: int = 200) -> str:
        """A text in one line and in quotes."""
        line = " ".join(self._cleaned(where, text).split())
        return f"“{line[:limit]}{'…' if len(line) > limit else ''}”"

    def report(self) -> list[str]:
        """What was hidden and taken out, for the answer's end."""
        told = list(dict.fromkeys(self.hidden))
        more = [f"({len(told) - MOST_HIDDEN} more hidden things were taken out.)"] if len(told) > MOST_HIDDEN else []
        return [*told[:MOST_HIDDEN], *more]

    def _cleaned(self, where: str, text: str) -> str:
        cleaned = clean(text)
        self.hidden += [f"Hidden in {where}, and taken out: {one}" for one in cleaned.hidden]
        return cleaned.text
