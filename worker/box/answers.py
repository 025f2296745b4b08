"""What the script of a probe said from inside the seal, one `name=value` a line."""

from worker.box.command import Ended, Ran


def answers(ran: Ran) -> dict[str, str] | str:
    """Each answer by its name; or why they are none: it did not end well, said a name twice, or something else."""
    if ran.ended is not Ended.EXITED or ran.exit_status != 0:
        return f"the probe {ran.ended.value} with status {ran.exit_status}"
    said: dict[str, str] = {}
    for line in ran.output.decode(errors="replace").splitlines():
        name, equals, value = line.partition("=")
        if not equals or name in said:
            return f"the probe said something unexpected: {line[:200]}"
        said[name] = value.strip()
    return said
