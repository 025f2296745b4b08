"""Job logs of CI services: what the service itself says, so that what it runs stands out."""

import re

from worker.evidence.distillers.marks import Kind, LineRules

_RULES = re.compile(
    r"(?P<message>##\[error\](?!Process completed)|::error|FATAL: |ERROR: (?!no tag)|ERROR: Job failed"
    r"|The command \"[^\"]+\" (?:failed|exited) )"
    r"|(?P<verdict>Finished: (?:FAILURE|ABORTED|UNSTABLE)|Exited with code |##\[error\]Process completed)"
    r"|(?P<closing>Build step '.*' marked build as|Sending e-mails to|\[WS-CLEANUP\]|Archiving artifacts"
    r"|GitHub Issue Notifier"
    r"|Recording test results|Build timed out)"
    r"|(?P<context>##\[group\]Run |##\[section\]Starting|\+ (?!cd |echo |export |set |\[|source )\S+ |\$ \S+ )"
    r"|(?P<note>##\[warning\]|::warning|(?i:warn(?:ing)?): )"
    r"|(?P<never>##\[(?:group|endgroup|debug|command)\]|\[command\]|Post job cleanup|Temporarily overriding HOME"
    r"|Adding repository directory to the temp|http\.https://github\.com|git version |Cleaning up orphan"
    r"|Terminate orphan"
    r"|Prepare (?:workflow|all)|Download action repository|Requested labels|Job defined at|Waiting for a runner"
    r"|Job is (?:about|waiting)|Running as |Started by |\[EnvInject\]|Building (?:remotely|in workspace)"
    r"| > git |Fetching "
    r"|remote: |Receiving objects|Resolving deltas|Unpacking objects|Cloning |using credential|Secret source: "
    r"|GITHUB_TOKEN"
    r"|Current runner version|Removing |Entering '|Wiping out)"
)


def _reader() -> LineRules:
    return LineRules(_RULES, re.compile(r"\s+\S|Caused|stdout:|stderr:"), 3)


KIND = Kind("ci", (), re.compile(r"(?!)"), _reader)
