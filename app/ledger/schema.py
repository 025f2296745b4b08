"""The tables. Facts and effects are the truth; what is cached from them says so."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from app.ledger.written import AnyName, AnyText, BigId, Moment

REVISION = "0007"
"""The newest migration: what `open_ledger` asks for, without loading Alembic."""

metadata = MetaData()

deliveries = Table(
    "deliveries",
    metadata,
    Column("guid", AnyText, primary_key=True, comment="X-GitHub-Delivery; the same again for a redelivery"),
    Column("event", AnyText, nullable=False),
    Column("action", AnyText, nullable=False),
    Column("received_at", Moment, nullable=False, index=True),
    Column("outcome", AnyText, nullable=False, comment="what came of it, in words"),
    Column("size", Integer, nullable=False, comment="bytes of the body as GitHub sent it"),
    Column("body", LargeBinary, nullable=False, comment="the body as GitHub sent it, zstd"),
)

missed = Table(
    "missed",
    metadata,
    Column("guid", AnyText, primary_key=True),
    Column("attempt_id", BigInteger, nullable=False, comment="the newest attempt that failed; by it one asks again"),
    Column("event", AnyText, nullable=False),
    Column("action", AnyText, nullable=False),
    Column("failed_at", Moment, nullable=False, comment="when that attempt was made, by GitHub's clock"),
    Column("why", AnyText, nullable=False, comment="how GitHub says that it failed"),
    Column("asked", Integer, nullable=False, comment="how often it was asked for"),
    Column("asked_at", Moment, comment="when that was last"),
    Column("due_at", Moment, nullable=False, comment="not to be asked for before"),
    Column("settled_at", Moment),
    Column("outcome", AnyText, nullable=False),
    Index(
        "missed_open",
        "due_at",
        sqlite_where=text("settled_at IS NULL"),
        postgresql_where=text("settled_at IS NULL"),
    ),
)

unheard = Table(
    "unheard",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("installation_id", BigInteger, nullable=False),
    Column("full_name", AnyText, nullable=False, comment="its name when the mint listed it"),
    Column("since", Moment, nullable=False, comment="what happened from then"),
    Column("until", Moment, nullable=False, comment="until then may have been told to nobody"),
    Column("due_at", Moment, nullable=False, comment="not to be read before"),
)

rounds = Table(
    "rounds",
    metadata,
    Column("name", String(40), primary_key=True, comment="what is done again and again"),
    Column("due_at", Moment, nullable=False, comment="not before; one that is under way moves it ahead"),
    Column("position", Text, nullable=False, comment="how far it came, as JSON"),
    Column("failures", Integer, nullable=False, comment="of the last rounds, one after another"),
    Column("trouble", AnyText, nullable=False, comment="why the last one failed, if it did"),
)

repositories = Table(
    "repositories",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("full_name", AnyText, nullable=False, comment="today's name; the id stays"),
    Column("installation_id", BigInteger, nullable=False),
)

labels = Table(
    "labels",
    metadata,
    Column("repository_id", BigInteger, primary_key=True, autoincrement=False),
    Column("label_id", BigInteger, primary_key=True, autoincrement=False),
    Column("name", AnyText, nullable=False, comment="the name by which it triggers, whatever it is called today"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", AnyName(40), primary_key=True),
    Column("installation_id", BigInteger, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("repository", AnyText, nullable=False, comment="its name when the label was set"),
    Column("issue_number", BigInteger, nullable=False),
    Column("issue_title", AnyText, nullable=False, comment="as it stood when the label was set"),
    Column("opened_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False, comment="cached: when the last fact happened"),
    Column("state", String(20), nullable=False, comment="cached: the name of the state; the truth is the fold"),
    Column("open", Boolean, nullable=False, comment="cached: whether the run goes on"),
    Column("pull_number", BigInteger, comment="cached: the number of the pull request that was opened"),
    Column("deadline", Moment, comment="cached: when what the run waits for is over"),
    Column("stirred_at", Moment, comment="when something last happened on its issue that is no fact of the run"),
    Index(
        "one_open_run",
        "repository_id",
        "issue_number",
        unique=True,
        sqlite_where=text("open"),
        postgresql_where=text("open"),
    ),
    Index("runs_by_pull", "repository_id", "pull_number"),
    Index("runs_by_installation", "installation_id"),
    Index("runs_by_age", "opened_at", "id"),
    Index("runs_by_state", "state", "opened_at", "id"),
    Index("runs_by_repository", "repository_id", "opened_at", "id"),
    Index("runs_open_by_age", "opened_at", "id", sqlite_where=text("open"), postgresql_where=text("open")),
    Index("runs_by_deadline", "deadline", sqlite_where=text("open"), postgresql_where=text("open")),
)

OPEN = text("runs.open")
"""Of runs that go on, written as the partial indexes say it: SQLite finds none of them for `open = 1`."""

facts = Table(
    "facts",
    metadata,
    Column("run_id", ForeignKey("runs.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False, comment="1, 2, 3 … without a gap"),
    Column("kind", String(40), nullable=False),
    Column("at", Moment, nullable=False),
    Column("delivery", AnyText, comment="guid of the delivery that told it, if one did"),
    Column("body", Text, nullable=False, comment="the fact as JSON"),
)

effects = Table(
    "effects",
    metadata,
    Column("id", BigId, primary_key=True),
    Column("run_id", ForeignKey("runs.id"), nullable=False),
    Column("key", AnyText, nullable=False, comment="nothing is owed twice"),
    Column("kind", String(40), nullable=False),
    Column("belt", String(20), nullable=False),
    Column("body", Text, nullable=False, comment="the effect as JSON"),
    Column("owed_since", Moment, nullable=False),
    Column("available_at", Moment, comment="not to be claimed before; empty: at once"),
    Column("fence", BigInteger, nullable=False, comment="rises with every claim; only the newest holder may write"),
    Column("attempts", Integer, nullable=False, comment="claims so far"),
    Column("postponements", Integer, nullable=False, comment="claims that ended in waiting for something outside"),
    Column("lease_until", Moment, comment="until when its holder may work undisturbed"),
    Column("settled_at", Moment),
    Column("outcome", AnyText, nullable=False, comment="what came of it; before that, why it waits"),
    UniqueConstraint("run_id", "key", name="one_effect_per_key"),
    Index(
        "effects_owed",
        "belt",
        "available_at",
        sqlite_where=text("settled_at IS NULL"),
        postgresql_where=text("settled_at IS NULL"),
    ),
    sqlite_autoincrement=True,
)

answers = Table(
    "answers",
    metadata,
    Column("effect_id", BigInteger, ForeignKey("effects.id"), primary_key=True, autoincrement=False),
    Column("question", String(64), primary_key=True, comment="SHA-256 of what was asked"),
    Column("nth", Integer, primary_key=True, autoincrement=False, comment="0, 1, 2 … of one attempt"),
    Column("body", LargeBinary, nullable=False, comment="the answer as JSON, zstd; gone once the effect is settled"),
)

plans = Table(
    "plans",
    metadata,
    Column("nr", BigId, primary_key=True, comment="order of arrival"),
    Column("digest", String(64), nullable=False, unique=True),
    Column("run_id", ForeignKey("runs.id"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False, comment="canonical JSON, byte for byte what the digest is of"),
    Index("plans_by_version", "run_id", "version"),
    sqlite_autoincrement=True,
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("media", AnyText, nullable=False),
    Column("size", BigInteger, nullable=False, comment="bytes before compression"),
    Column("kept_since", Moment, nullable=False, comment="by this machine's clock"),
    Column("body", LargeBinary, nullable=False, comment="zstd"),
)

spans = Table(
    "spans",
    metadata,
    Column("id", BigId, primary_key=True),
    Column("run_id", AnyText, nullable=False, index=True),
    Column("belt", String(20), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("began_at", Moment, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("body", Text, nullable=False, comment="the span as JSON"),
    sqlite_autoincrement=True,
)

mints = Table(
    "mints",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("run_id", AnyText, nullable=False, index=True),
    Column("minted_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("revoked_at", Moment),
    Column("refused", Boolean, nullable=False),
    Column("body", Text, nullable=False, comment="what was minted as JSON; never the token"),
    Index(
        "mints_live",
        "expires_at",
        sqlite_where=text("revoked_at IS NULL AND NOT refused"),
        postgresql_where=text("revoked_at IS NULL AND NOT refused"),
    ),
)

LIVE = text("mints.revoked_at IS NULL AND NOT mints.refused")
"""Of tokens that may open something, written as their partial index says it, for the same reason."""

keys = Table(
    "keys",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("secret", LargeBinary, nullable=False),
)
