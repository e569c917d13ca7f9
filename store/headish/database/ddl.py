"""The statements that make the tables of a new database. Written by `make docs` from schema.py."""

TABLES = (
    """
CREATE TABLE arrival (
    space INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    remote BLOB,
    device VARCHAR,
    "by" BLOB,
    milliseconds INTEGER NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (space, first)
)
 WITHOUT ROWID
""",
    """
CREATE TABLE bookmark_log (
    space INTEGER NOT NULL,
    name BLOB NOT NULL,
    move INTEGER NOT NULL,
    chain INTEGER,
    pos INTEGER,
    milliseconds INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    change INTEGER,
    running BLOB NOT NULL,
    was BLOB,
    PRIMARY KEY (space, name, move)
)
 WITHOUT ROWID
""",
    "CREATE INDEX bookmark_log_change ON bookmark_log (space, change) WHERE change IS NOT NULL",
    """
CREATE TABLE call (
    space INTEGER NOT NULL,
    id VARCHAR(25) NOT NULL,
    milliseconds INTEGER NOT NULL,
    client BLOB NOT NULL,
    session BLOB,
    lane BLOB,
    tip VARCHAR(25),
    answer VARCHAR(25),
    response BLOB,
    data BLOB NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (space, id)
)
""",
    "CREATE INDEX call_answer ON call (space, answer) WHERE answer IS NOT NULL",
    "CREATE INDEX call_lane ON call (space, lane, id) WHERE lane IS NOT NULL",
    "CREATE INDEX call_response ON call (space, response) WHERE response IS NOT NULL",
    "CREATE INDEX call_tip ON call (space, tip) WHERE tip IS NOT NULL",
    """
CREATE TABLE conversation (
    space INTEGER NOT NULL,
    subject BLOB NOT NULL,
    revision INTEGER NOT NULL,
    archived SMALLINT NOT NULL,
    pinned SMALLINT NOT NULL,
    "key" BLOB,
    data BLOB NOT NULL,
    milliseconds INTEGER NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (space, subject)
)
 WITHOUT ROWID
""",
    'CREATE UNIQUE INDEX conversation_key ON conversation (space, "key") WHERE key IS NOT NULL',
    """
CREATE TABLE counter (
    space INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    change INTEGER NOT NULL,
    latest INTEGER NOT NULL,
    epoch BLOB NOT NULL,
    state VARCHAR,
    roots INTEGER NOT NULL,
    heads INTEGER NOT NULL,
    given_bytes INTEGER NOT NULL,
    bars INTEGER NOT NULL,
    limit_turns INTEGER,
    limit_bytes INTEGER,
    PRIMARY KEY (space)
)
""",
    """
CREATE TABLE definition (
    space INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    name BLOB NOT NULL,
    number INTEGER NOT NULL,
    hash BLOB,
    data BLOB,
    milliseconds INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    change INTEGER NOT NULL,
    running BLOB NOT NULL,
    PRIMARY KEY (space, kind, name, number)
)
 WITHOUT ROWID
""",
    "CREATE INDEX definition_change ON definition (space, change)",
    """
CREATE TABLE erasure (
    space INTEGER NOT NULL,
    number INTEGER NOT NULL,
    change INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id VARCHAR(25) NOT NULL,
    receipt BLOB NOT NULL,
    "before" BLOB NOT NULL,
    hash BLOB NOT NULL,
    milliseconds INTEGER NOT NULL,
    PRIMARY KEY (space, number)
)
 WITHOUT ROWID
""",
    "CREATE INDEX erasure_change ON erasure (space, change)",
    """
CREATE TABLE notice (
    space INTEGER NOT NULL,
    id VARCHAR(25) NOT NULL,
    remote BLOB NOT NULL,
    device BLOB NOT NULL,
    receipt BLOB NOT NULL,
    state VARCHAR NOT NULL,
    milliseconds INTEGER NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (space, id)
)
 WITHOUT ROWID
""",
    """
CREATE TABLE object (
    space INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    "key" BLOB NOT NULL,
    revision INTEGER NOT NULL,
    data BLOB NOT NULL,
    milliseconds INTEGER NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (space, kind, "key")
)
""",
    """
CREATE TABLE payload (
    space INTEGER NOT NULL,
    hash BLOB NOT NULL,
    size INTEGER NOT NULL,
    data BLOB,
    erased INTEGER,
    PRIMARY KEY (space, hash)
)
""",
    """
CREATE TABLE record_log (
    space INTEGER NOT NULL,
    change INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    subject BLOB NOT NULL,
    milliseconds INTEGER NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (space, change)
)
 WITHOUT ROWID
""",
    """
CREATE TABLE remote (
    space INTEGER NOT NULL,
    name BLOB NOT NULL,
    url BLOB NOT NULL,
    settings BLOB NOT NULL,
    state BLOB NOT NULL,
    milliseconds INTEGER NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (space, name)
)
 WITHOUT ROWID
""",
    """
CREATE TABLE remote_bookmark (
    space INTEGER NOT NULL,
    remote BLOB NOT NULL,
    device BLOB NOT NULL,
    name BLOB NOT NULL,
    turn VARCHAR(25),
    record BLOB,
    milliseconds INTEGER NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (space, remote, device, name)
)
 WITHOUT ROWID
""",
    """
CREATE TABLE search (
    space INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    version INTEGER NOT NULL,
    emptied INTEGER NOT NULL,
    PRIMARY KEY (space)
)
""",
    """
CREATE TABLE signature (
    space INTEGER NOT NULL,
    number INTEGER NOT NULL,
    turn VARCHAR(25) NOT NULL,
    kind VARCHAR NOT NULL,
    "key" VARCHAR NOT NULL,
    bytes BLOB NOT NULL,
    milliseconds INTEGER NOT NULL,
    remote BLOB NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (space, number)
)
 WITHOUT ROWID
""",
    "CREATE INDEX signature_turn ON signature (space, turn)",
    """
CREATE TABLE space (
    id INTEGER NOT NULL,
    name BLOB NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
)
""",
    """
CREATE TABLE space_log (
    space INTEGER NOT NULL,
    number INTEGER NOT NULL,
    name BLOB,
    milliseconds INTEGER NOT NULL,
    running BLOB NOT NULL,
    PRIMARY KEY (space, number)
)
 WITHOUT ROWID
""",
    """
CREATE TABLE stream (
    space INTEGER NOT NULL,
    id VARCHAR(25) NOT NULL,
    about BLOB NOT NULL,
    expires INTEGER NOT NULL,
    outcome VARCHAR,
    turn VARCHAR(25),
    PRIMARY KEY (space, id)
)
 WITHOUT ROWID
""",
    """
CREATE TABLE token (
    space INTEGER NOT NULL,
    label BLOB NOT NULL,
    hash BLOB NOT NULL,
    rights VARCHAR NOT NULL,
    milliseconds INTEGER NOT NULL,
    expires INTEGER,
    PRIMARY KEY (space, label)
)
 WITHOUT ROWID
""",
    """
CREATE TABLE turn (
    space INTEGER NOT NULL,
    chain INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id VARCHAR(25) NOT NULL,
    role VARCHAR NOT NULL,
    type VARCHAR,
    content_type VARCHAR,
    cache SMALLINT,
    attributes BLOB,
    inherited BLOB,
    system BLOB,
    digest BLOB NOT NULL,
    hash BLOB NOT NULL,
    data BLOB,
    seal BLOB NOT NULL,
    head BLOB,
    app BLOB,
    erased INTEGER,
    "key" BLOB,
    supersedes VARCHAR(25),
    PRIMARY KEY (space, chain, pos),
    CONSTRAINT turn_id UNIQUE (space, id),
    CONSTRAINT turn_seq UNIQUE (space, seq),
    CONSTRAINT turn_pos CHECK (pos >= 0)
)
""",
    "CREATE INDEX turn_digest ON turn (space, substr(digest, 1, 8))",
    "CREATE INDEX turn_inherited ON turn (space, chain, pos) WHERE inherited IS NOT NULL",
    'CREATE UNIQUE INDEX turn_key ON turn (space, "key") WHERE key IS NOT NULL',
    "CREATE INDEX turn_supersedes ON turn (space, supersedes) WHERE supersedes IS NOT NULL",
    """
CREATE TABLE bookmark (
    space INTEGER NOT NULL,
    name BLOB NOT NULL,
    chain INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    move INTEGER NOT NULL,
    recent INTEGER NOT NULL,
    own SMALLINT NOT NULL,
    running BLOB NOT NULL,
    PRIMARY KEY (space, name),
    FOREIGN KEY(space, chain, pos) REFERENCES turn (space, chain, pos)
)
 WITHOUT ROWID
""",
    "CREATE INDEX bookmark_place ON bookmark (space, chain, pos) WHERE own = 0",
    "CREATE INDEX bookmark_recent ON bookmark (space, recent) WHERE recent >= 0",
    """
CREATE TABLE link (
    space INTEGER NOT NULL,
    chain INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    parent_chain INTEGER NOT NULL,
    parent_pos INTEGER NOT NULL,
    PRIMARY KEY (space, chain, ordinal),
    FOREIGN KEY(space, parent_chain, parent_pos) REFERENCES turn (space, chain, pos)
)
 WITHOUT ROWID
""",
    "CREATE INDEX link_parent ON link (space, parent_chain, parent_pos)",
    """
CREATE TABLE stream_chunk (
    space INTEGER NOT NULL,
    stream VARCHAR(25) NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (space, stream, number),
    FOREIGN KEY(space, stream) REFERENCES stream (space, id)
)
 WITHOUT ROWID
""",
)
"""As SQLite has them, in an order in which each table comes after those that it refers to."""
