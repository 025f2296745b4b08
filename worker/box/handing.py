"""What may be handed to a box: plain directories that trusted code made, without git's own folder."""

from pathlib import Path

from worker.box.command import Command


def must_be_handed_over(tree: Path, command: Command) -> None:
    """Raises ValueError for a tree or tool directory that no caller may hand over."""
    for place in (tree, *command.tools, *((command.made,) if command.made else ())):
        if place.is_symlink() or not place.is_dir():
            raise ValueError(f"{place} is not a directory that can be handed over")
    if (tree / ".git").exists() or (tree / ".git").is_symlink():
        raise ValueError(f"{tree} holds .git, which never enters the box")
