"""Every setting of every process, as the reference tells of it. A test tries each value that is said to be taken or
refused on every process that reads the setting, and holds the list against the code.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.belts import Belt
from app.core.leasing import LONGEST_LEASE
from app.handed import FROM_FILES
from app.settings import (
    DEFAULT_API,
    DEFAULT_HOST,
    DEFAULT_LABEL,
    DEFAULT_PORT,
    DEFAULT_SWEEP_SECONDS,
    SHORTEST_CREDENTIAL,
)
from worker.setting_up import EVERYBODY
from worker.settings import (
    DEFAULT_BWRAP,
    DEFAULT_ENVIRONMENTS_GB,
    DEFAULT_MODEL_API,
    EXECUTOR_MODEL,
    MIRROR_GIGABYTES,
    PLANNER_MODEL,
    SCOUT_MODEL,
    credential_name,
)
from worker.up import HOLDS
from worker.way_out import DEFAULT_LISTEN

UP = "up"
SETUP = "setup"
EGRESS = "egress"
PROCESSES = tuple(HOLDS)
_NOTHING = "–"
_BELTS_ALL = tuple(belt.value for belt in Belt)

HANDED: Mapping[str, tuple[str, ...]] = {
    "COUNTERSIGN_MINT": _BELTS_ALL,
    "COUNTERSIGN_MINT_FD": _BELTS_ALL,
    "COUNTERSIGN_MINT_CREDENTIAL": _BELTS_ALL,
    "COUNTERSIGN_MINT_LISTEN": ("mint",),
    "COUNTERSIGN_MINT_LINES_FD": ("mint",),
    **{credential_name(belt): ("mint",) for belt in Belt},
}
"""Which processes read what joins belts and mint: `up` makes it as it starts them, or they are set over machines."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `good` are values that are taken, `bad` some that are refused: then the process does not start.

    `beside`: what else has to be set for the setting to be read at all. `more`: commands that read it beside the
    processes.
    """

    name: str
    says: str
    default: str = _NOTHING
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    form: str = ""
    """Form, unit and bounds."""
    wrong: str = ""
    """What happens where it is wrong in another way than those that are refused."""
    beside: Mapping[str, str] | None = None
    more: tuple[str, ...] = ()

    def readers(self) -> tuple[str, ...]:
        """Who is handed it on one machine or on several, and what else reads it."""
        of_all = PROCESSES if self.name in EVERYBODY else ()
        held = {one for one in PROCESSES if self.name in HOLDS[one]} | set(HANDED.get(self.name, ())) | set(of_all)
        return (*(one for one in PROCESSES if one in held), *self.more)


@dataclass(frozen=True, slots=True)
class Chapter:
    """Settings that belong together."""

    title: str
    settings: tuple[Setting, ...]


_WHOLE = "a whole number from {} to {}"
_SECONDS = "seconds, from {} to {}"
_HOST_PORT = "`host:port`"
_HTTPS = "an `https://` address without a user name; plain `http://` for this machine alone"
_NETWORKS = "networks as `10.1.0.0/16`, between commas or blanks"
_NAMES = "`NAME=ADDRESS`, between commas or blanks"
_GB = _WHOLE.format(1, "100 000")
_BAD_NETWORKS, _BAD_NAMES = ("everything", "10.1.2.3/16"), ("packages.example.com", "packages.example.com=here")
_PODS = {
    "COUNTERSIGN_BOX": "pods",
    "COUNTERSIGN_PODS_IMAGE": "an-image",
    "COUNTERSIGN_PODS_RUNTIME_CLASS": "gvisor",
    "COUNTERSIGN_PODS_VOLUME": "/trees",
}
_DESCRIPTOR = "the number of an inherited socket; set by `countersign up` or `countersign setup`, and by nobody else"


def _pods(name: str, says: str, default: str = _NOTHING, needed: tuple[str, ...] = ("",)) -> Setting:
    return Setting(name, says, default, bad=needed, form="with `COUNTERSIGN_BOX=pods`", beside=_PODS)


_APP = Chapter(
    "The App",
    (
        Setting("GITHUB_APP_ID", "the App's id", good=("1234", "Iv23liAbCdEf"), bad=("", "my app"),
                form="the number, or the client id", wrong="one that GitHub does not know: `doctor` names it (`app`)"),
        Setting("GITHUB_PRIVATE_KEY", "the App's private key itself", bad=("",),
                form="PEM, or the same in Base64 or with `\\n` for its line ends",
                wrong="a key that is none stops the start; one of another App: `doctor` names it (`app`)"),
        Setting("GITHUB_PRIVATE_KEY_PATH", "a file that holds the key; read where `GITHUB_PRIVATE_KEY` is unset",
                bad=("/nowhere/key.pem",), form="a path", beside={"GITHUB_PRIVATE_KEY": ""}),
        Setting("GITHUB_WEBHOOK_SECRET", "the secret with which GitHub signs deliveries", bad=("",),
                wrong="another one than GitHub's: each delivery is answered 401, and `doctor` says so (`deliveries`)"),
        Setting("GITHUB_WEBHOOK_SECRET_OLD", "the secret before, taken as well while it is replaced"),
        Setting("GITHUB_CLIENT_ID", "the App's OAuth client, with which people sign in to the pages",
                bad=("",), beside={"GITHUB_CLIENT_SECRET": "a secret", "COUNTERSIGN_URL": "https://a.example.com"},
                form="the two go together", more=(EGRESS,)),
        Setting("GITHUB_CLIENT_SECRET", "its secret", bad=("",),
                beside={"GITHUB_CLIENT_ID": "Iv23", "COUNTERSIGN_URL": "https://a.example.com"}),
        Setting("GITHUB_API_URL", "where GitHub is: GHES is `https://HOST/api/v3`, ghe.com `https://api.SUBDOMAIN.ghe.com`",
                f"`{DEFAULT_API}`", good=("https://github.example.com/api/v3",),
                bad=("github.example.com", "http://github.example.com/api/v3", "https://me@github.example.com"),
                form=_HTTPS, more=(EGRESS, SETUP)),
        Setting("COUNTERSIGN_BOT_ID", "the numeric id of the App's own account, so that its deliveries are known by it",
                good=("1",), bad=("0", "me"), form=_WHOLE.format(1, "2^53 - 1"),
                wrong="without it the deliveries of its own comments are read, and lead to nothing"),
        Setting("COUNTERSIGN_APP_PAGE", "where the App's page is; kept by set-up, and read from its file alone",
                more=(UP,)),
    ),
)  # fmt: skip

_MODELS = Chapter(
    "Models",
    (
        Setting("ANTHROPIC_API_KEY", "the model's key", bad=("",),
                wrong="a key that the API does not take: planning ends as `failed`; `doctor` says so (`models of …`)"),
        Setting("ANTHROPIC_BASE_URL", "a gateway of your own in front of the API", f"`{DEFAULT_MODEL_API}`",
                good=("https://models.example.com",), bad=("models.example.com",),
                form="an `http://` or `https://` address", more=(EGRESS,)),
        Setting("COUNTERSIGN_PLANNER_MODEL", "who plans, reviews, and does the steps that a plan calls `strong`",
                f"`{PLANNER_MODEL}`", form="a model's name",
                wrong="a name that the API does not know: runs that ask for it end as `failed`; `doctor` says so"),
        Setting("COUNTERSIGN_EXECUTOR_MODEL", "who carries steps out", f"`{EXECUTOR_MODEL}`", form="a model's name",
                wrong="as above"),
        Setting("COUNTERSIGN_SCOUT_MODEL", "who runs the planner's errands", f"`{SCOUT_MODEL}`", form="a model's name",
                wrong="as above"),
        Setting("COUNTERSIGN_MODELS", "further models that a template or a policy may ask for by name; `none` for an "
                "installation without any model, which needs no key and carries out rules alone",
                form="names, between commas or blanks"),
        Setting("COUNTERSIGN_DAY_USD", "what models may cost in a day of UTC, everything together", "no bound",
                good=("25", "12.50"), bad=("0", "-1", "much", "1.23456"),
                form="US dollars above 0, at most four places behind the point",
                wrong="where a day's money is spent, runs wait for the next day and say so"),
        Setting("COUNTERSIGN_REPOSITORY_DAY_USD", "the same for each repository", "no bound", good=("5",),
                bad=("0", "much"), form="as above", wrong="as above"),
    ),
)  # fmt: skip

_PLACES = Chapter(
    "Ledger, bells, places",
    (
        Setting("DATABASE_URL", "the ledger's database", "SQLite, `ledger.db` in the data folder",
                good=("sqlite:////var/lib/countersign/ledger.db", "postgresql://countersign@db.example.com/countersign"),
                bad=("ledger.db", "mysql://db.example.com/countersign"),
                form="`sqlite:///FILE` or `postgresql://…`", more=("every command that looks into the ledger",),
                wrong="one that does not answer: `/readyz` is 503, and belts go on when it is back"),
        Setting("CELERY_BROKER_URL", "the broker that carries the bells", "folders, `queue/` in the data folder",
                good=("redis://bells.example.com:6379/0", "filesystem://"), bad=("bells.example.com", "http://bells/"),
                form="`redis://`, `rediss://`, `sentinel://`, `amqp://`, `amqps://` or `filesystem://`",
                wrong="one that does not answer: `/readyz` says `degraded`, work waits"),
        Setting("COUNTERSIGN_DATA_DIR", "the folder for everything that is kept on this machine", "`.countersign`",
                form="a path on a disk of this machine", more=(UP, SETUP),
                wrong="where it cannot be made or opened, the process does not start"),
        Setting("HOST", "where the web process listens", f"`{DEFAULT_HOST}`", form="an address of this machine",
                more=(SETUP,), wrong="where it cannot be bound, the process ends with its words in the log"),
        Setting("PORT", "its port", f"`{DEFAULT_PORT}`", good=("0", "8080"), bad=("-1", "70000", "http"),
                form=_WHOLE.format(0, 65535), more=(SETUP,)),
        Setting("COUNTERSIGN_URL", "where GitHub and people reach the web process; set-up tells it to GitHub, and "
                "people can sign in", "this machine only", good=("https://countersign.example.com",),
                bad=("countersign.example.com", "http://countersign.example.com"), form=_HTTPS, more=(UP, SETUP)),
        Setting("COUNTERSIGN_LABEL", "the label that asks for a run", f"`{DEFAULT_LABEL}`",
                wrong="a label that a repository does not have starts nothing; `doctor --repo` says so"),
        Setting("COUNTERSIGN_LOGS", "how each process writes its log to standard error: `text`, or `json`, an object a "
                "line with `run`, `delivery`, `belt` and `effect` where there is one", "`text`", good=("text", "json"),
                bad=("xml",), more=(UP, SETUP)),
    ),
)  # fmt: skip

_PAGES = Chapter(
    "The pages and the numbers",
    (
        Setting("COUNTERSIGN_PAGES_PASSWORD", "shows the pages to who knows it, in place of signing in",
                "one-time links, for this machine alone", good=("a word of yours",),
                wrong="of blanks alone, or together with signing in: the web process does not start"),
        Setting("COUNTERSIGN_METRICS_TOKEN", "tells `/metrics` to who brings it as a bearer token",
                "this machine only"),
    ),
)  # fmt: skip

_DELIVERIES = Chapter(
    "Deliveries that are fetched",
    (
        Setting("COUNTERSIGN_PULL", "`yes`: `up` fetches deliveries from the App's log, since GitHub cannot reach this "
                "machine", "what set-up found, else `no`", good=("yes", "no"), bad=("true",), more=(UP,)),
        Setting("COUNTERSIGN_PULL_SECRET", "the same without `up`: a secret that mint and web process share",
                form=f"{SHORTEST_CREDENTIAL} characters or more", wrong="a shorter one: neither of them starts"),
        Setting("COUNTERSIGN_PULL_TO", "the receiver's address for the mint",
                "`/webhooks/github` at `HOST` and `PORT`"),
    ),
)  # fmt: skip

_POLICY = Chapter(
    "What repositories may say, and templates",
    (
        Setting("COUNTERSIGN_BOUNDS", "the file of [bounds](#the-operators-bounds)", "the widest bounds",
                bad=("/nowhere/bounds.yml",), form="a path to a YAML file",
                wrong="a file with an unknown key or a wrong value stops mint and publisher", more=("policy",)),
        Setting("COUNTERSIGN_TEMPLATES", "a folder of templates of your own, `NAME/VERSION/`", bad=("/nowhere",),
                form="a path", wrong="a template that cannot be read: `doctor` names it (`templates`)",
                more=("templates",)),
        Setting("COUNTERSIGN_TEMPLATE_VERSIONS", "`bugfix@1.0.0`: this version only; `docs<=1.2.0`: none above",
                "the newest", good=("bugfix@1.0.0, docs<=1.2.0",), bad=("bugfix",),
                form="between commas or blanks", more=("templates",)),
        Setting("COUNTERSIGN_TEMPLATE_CANDIDATES", "`bugfix@1.1.0:20%`: this share of the runs gets this version",
                good=("bugfix@1.1.0:20%",), bad=("bugfix@1.1.0", "bugfix@1.1.0:200%"), form="between commas or blanks",
                more=("templates",)),
    ),
)  # fmt: skip

_BOX = Chapter(
    "The box",
    (
        Setting("COUNTERSIGN_BWRAP", "where bubblewrap is", f"`{DEFAULT_BWRAP}`", form="a path",
                wrong="where there is none that works, nothing of a repository is run; `doctor` says why (`box of …`)"),
        Setting("COUNTERSIGN_BOX_LIMITS", "`hard` refuses to run anything where the kernel cannot bound a whole run's "
                "memory and processes; `soft` tells so in the draft", "`soft`", good=("hard", "soft"), bad=("none",)),
        Setting("COUNTERSIGN_BOX_CGROUP", "an empty control group (version 2) whose subtree is handed to the worker, "
                "where its unit does not say `Delegate=yes`", form="a folder"),
        Setting("COUNTERSIGN_BOX_NETWORKS", "networks of your own in which hosts of set-up commands may be",
                "public addresses only", good=("10.1.0.0/16",), bad=_BAD_NETWORKS, form=_NETWORKS),
        Setting("COUNTERSIGN_BOX_NAMES", "addresses of such hosts that no resolver knows",
                good=("packages.example.com=10.1.2.3",), bad=_BAD_NAMES, form=_NAMES),
        Setting("COUNTERSIGN_ENVIRONMENTS_GB", "how much of the disk prepared test environments may take; those used "
                "longest ago go first, and never one in use", str(DEFAULT_ENVIRONMENTS_GB), good=("1",),
                bad=("0", "some"), form=f"GiB, {_GB}"),
        Setting("COUNTERSIGN_MIRROR_GB", "what the mirrors of repositories may take on this machine; those not used "
                "for longest go first", str(MIRROR_GIGABYTES), good=("1",), bad=("0", "some"), form=f"GB, {_GB}"),
        Setting("COUNTERSIGN_BOX", "`pods`: each command is a job of its own on a cluster, under gVisor or Kata",
                "`bubblewrap`", good=("bubblewrap",), bad=("docker",)),
        _pods("COUNTERSIGN_PODS_IMAGE", "the image of these jobs"),
        _pods("COUNTERSIGN_PODS_RUNTIME_CLASS", "the cluster's RuntimeClass for gVisor or Kata"),
        _pods("COUNTERSIGN_PODS_VOLUME", "where this process sees the claim on which trees are handed over"),
        _pods("COUNTERSIGN_PODS_CLAIM", "that claim's name", "`countersign-trees`", ()),
        _pods("COUNTERSIGN_PODS_NAMESPACE", "the namespace of the jobs", "`countersign-box`", ()),
        _pods("COUNTERSIGN_PODS_API", "the cluster's API", "the pod's own", ("http://cluster.example.com",)),
    ),
)  # fmt: skip

_REACH = Chapter(
    "Documentation, and the way out",
    (
        Setting("COUNTERSIGN_DOCS_HOSTS", "hosts whose documentation the planner may read; a repository may choose "
                "among them", "none", good=("docs.example.com, wiki.example.com:8443",), bad=("https://docs.example.com",),
                form="names with a port where it is not 443, between commas or blanks", more=(EGRESS,)),
        Setting("COUNTERSIGN_DOCS_NETWORKS", "networks of your own in which such hosts may be", "public addresses only",
                good=("10.1.0.0/16",), bad=("everything",), form=_NETWORKS, more=(EGRESS,)),
        Setting("COUNTERSIGN_DOCS_CA_FILE", "authorities to trust there beside the usual ones", bad=("/nowhere.pem",),
                form="a PEM file", more=(EGRESS,)),
        Setting("COUNTERSIGN_EGRESS", "this process' own way out, where it has no other: documentation and set-up "
                "commands go by it; `HTTPS_PROXY` is for everything else", good=("egress:3128",),
                bad=("egress", "http://egress:3128"), form=_HOST_PORT),
        Setting("COUNTERSIGN_EGRESS_LISTEN", "where the way out listens",
                "`{}:{}`".format(*DEFAULT_LISTEN), good=("127.0.0.1:3128",), bad=("3128",), form=_HOST_PORT,
                more=(EGRESS,)),
        Setting("COUNTERSIGN_EGRESS_HOSTS", "hosts that set-up commands may reach by it", "none",
                good=("packages.example.com",), bad=("packages",),
                form="full names with a port where it is not 443", more=(EGRESS,)),
        Setting("COUNTERSIGN_EGRESS_NETWORKS", "networks of your own in which its hosts may be",
                "public addresses only", good=("10.1.0.0/16",), bad=_BAD_NETWORKS, form=_NETWORKS, more=(EGRESS,)),
        Setting("COUNTERSIGN_EGRESS_NAMES", "addresses of hosts that no resolver knows",
                good=("packages.example.com=10.1.2.3",), bad=_BAD_NAMES, form=_NAMES, more=(EGRESS,)),
    ),
)  # fmt: skip

_BELTS = Chapter(
    "Belts and the mint",
    (
        Setting("COUNTERSIGN_SWEEP_SECONDS", "how often beat rings each belt's sweep, which finds what nobody heard",
                f"{DEFAULT_SWEEP_SECONDS:g}", good=("0.1", "3600"), bad=("0", "3601", "often"),
                form=_SECONDS.format("0.1", 3600)),
        Setting("COUNTERSIGN_WATCH_SECONDS", "how often a 👍 is looked for", "30", good=("0.05", "86400"),
                bad=("0", "86401", "often"), form=_SECONDS.format("0.05", "86 400")),
        Setting("COUNTERSIGN_LEASE_SECONDS", "for how long work is held without a word of who does it", "60",
                good=("0.05", "3600"), bad=("0", "3601"),
                form=_SECONDS.format("0.05", f"{LONGEST_LEASE.total_seconds():.0f}")),
        Setting("COUNTERSIGN_MINT", "where the mint is, for a belt on another machine", good=("mint.example.com:8010",),
                bad=("mint.example.com", ""), form=_HOST_PORT),
        Setting("COUNTERSIGN_MINT_CREDENTIAL", "with what the belt proves itself there", bad=("",),
                wrong="one that the mint does not know: the belt gets no token; `doctor` says so (`mint for …`)"),
        Setting("COUNTERSIGN_MINT_LISTEN", "where the mint listens for belts of other machines",
                good=("0.0.0.0:8010",), bad=("8010",), form=_HOST_PORT),
        *(Setting(credential_name(belt), f"the {belt}'s credential, at the mint", bad=("too short",),
                  form=f"{SHORTEST_CREDENTIAL} characters or more, another one for each belt")
          for belt in Belt),
        Setting("COUNTERSIGN_MINT_FD", "the belt's line to the mint", form=_DESCRIPTOR, good=("3",), bad=("2", "x")),
        Setting("COUNTERSIGN_MINT_LINES_FD", "the mint's line to `up`", form=_DESCRIPTOR, good=("3",), bad=("2", "x")),
        Setting("COUNTERSIGN_SETUP_FD", "the line between the set-up pages and the registrar", form=_DESCRIPTOR,
                more=(SETUP,)),
    ),
)  # fmt: skip

CHAPTERS = (_APP, _MODELS, _PLACES, _PAGES, _DELIVERIES, _POLICY, _BOX, _REACH, _BELTS)

def every() -> tuple[Setting, ...]:
    """All of them, in the order of the page."""
    return tuple(one for chapter in CHAPTERS for one in chapter.settings)


def table(chapter: Chapter) -> str:
    """The chapter's table in Markdown."""
    rows = ["| setting | what it is | default | form, unit, bounds | read by | when it is wrong |",
            "|---|---|---|---|---|---|"]  # fmt: skip
    for one in chapter.settings:
        name = f"`{one.name}`" + (" (`…_FILE`)" if one.name in FROM_FILES else "")
        cells = (name, one.says, one.default, _form(one), ", ".join(one.readers()), _wrong(one))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _form(one: Setting) -> str:
    examples = "" if one.form else ", ".join(f"`{value}`" for value in one.good if value)
    return one.form or examples or "any text"


def _wrong(one: Setting) -> str:
    """What is said of it, beside the refusals of `bad`."""
    unset = "unset: the process does not start" if "" in one.bad else ""
    refused = "the process does not start" if any(one.bad) else ""
    said = refused if refused and unset else unset or refused
    return "; ".join(filter(None, (said, one.wrong))) or _NOTHING


def page() -> str:
    """Every chapter with its heading."""
    return "\n\n".join(f"### {chapter.title}\n\n{table(chapter)}" for chapter in CHAPTERS)
