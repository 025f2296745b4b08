"""`countersign distill FILE --chars N`: the view of a file that the planner would have."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from worker.evidence.distill import SMALLEST_LIMIT, distill_stream

NOT_FOUND = 1
REFUSED = 2
_PIECE = 1 << 20


def distill_command(words: Sequence[str]) -> int:
    """Prints the view. Exit code 1 for a file that cannot be read, 2 for a size that cannot be had."""
    parser = argparse.ArgumentParser(prog="countersign distill", description="The part of a long output that decides.")
    parser.add_argument("file", help="the output's file; - reads standard input")
    parser.add_argument("--chars", type=int, default=4_000, help="the view's size at most")
    parser.add_argument("--kind", default="", help="a hint: pytest, maven, go test …")
    asked = parser.parse_args(list(words))
    if asked.chars < SMALLEST_LIMIT:
        sys.stderr.write(f"A view has at least {SMALLEST_LIMIT} characters.\n")
        return REFUSED
    try:
        if asked.file == "-":
            view = distill_stream(_pieces(sys.stdin.buffer), asked.chars, asked.kind, "-")
        else:
            with Path(asked.file).open("rb") as source:
                view = distill_stream(_pieces(source), asked.chars, asked.kind, asked.file)
    except OSError as unread:
        sys.stderr.write(f"{asked.file} cannot be read: {unread.strerror}.\n")
        return NOT_FOUND
    sys.stdout.write(view.text + "\n")
    return 0


def _pieces(source: BinaryIO) -> Iterator[bytes]:
    while piece := source.read(_PIECE):
        yield piece
