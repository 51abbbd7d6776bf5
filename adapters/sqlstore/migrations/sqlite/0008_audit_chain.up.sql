-- +goose Up
-- The end of the chain. Whoever appends holds this row until the commit.
CREATE TABLE audit_head (
    id   BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    size BIGINT NOT NULL,
    hash BLOB NOT NULL
);
INSERT INTO audit_head (id, size, hash) VALUES (1, 0, zeroblob(32));

-- The chain. Rows are added and never changed. The columns behind hash repeat what the leaf says, empty where it says nothing.
CREATE TABLE audit_entries (
    seq    INTEGER PRIMARY KEY NOT NULL,
    leaf   TEXT NOT NULL,
    hash   BLOB NOT NULL,
    id     TEXT NOT NULL,
    at     TEXT NOT NULL,
    action TEXT NOT NULL,
    actor  TEXT NOT NULL,
    object TEXT NOT NULL,
    run    TEXT NOT NULL
);
CREATE INDEX audit_entries_actor ON audit_entries (actor, seq) WHERE actor <> '';
CREATE INDEX audit_entries_object ON audit_entries (object, seq) WHERE object <> '';
-- Most entries of a run are about the run itself, and the index above finds them.
CREATE INDEX audit_entries_run ON audit_entries (run, seq) WHERE run <> '' AND object <> 'run/' || run;

-- What can be erased of an entry: its disclosures, a list in JSON, and the document whose digest the leaf holds.
CREATE TABLE audit_private (
    seq         INTEGER PRIMARY KEY NOT NULL,
    disclosures TEXT NOT NULL,
    detail      TEXT NOT NULL
);

-- The full tiles of the tree over the entries, made from them.
CREATE TABLE audit_tiles (
    level  BIGINT NOT NULL,
    place  BIGINT NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (level, place)
);

CREATE TABLE audit_anchors (
    id       TEXT PRIMARY KEY NOT NULL,
    kind     TEXT NOT NULL,
    epoch    BIGINT NOT NULL,
    size     BIGINT NOT NULL,
    root     BLOB NOT NULL,
    made_at  TEXT NOT NULL,
    note     TEXT NOT NULL,
    evidence BLOB NOT NULL,
    source   TEXT NOT NULL
);
CREATE INDEX audit_anchors_size ON audit_anchors (size, id);
CREATE INDEX audit_anchors_kind ON audit_anchors (kind, size, id);

CREATE TABLE audit_keys (
    pos          INTEGER PRIMARY KEY NOT NULL,
    kid          TEXT NOT NULL UNIQUE,
    use          TEXT NOT NULL,
    public       BLOB NOT NULL,
    status       TEXT NOT NULL,
    not_before   TEXT,
    first_size   BIGINT NOT NULL,
    last_size    BIGINT NOT NULL,
    trusted_size BIGINT NOT NULL,
    handover     TEXT NOT NULL
);

CREATE TABLE audit_epochs (
    n         BIGINT PRIMARY KEY NOT NULL,
    origin    TEXT NOT NULL,
    first_seq BIGINT NOT NULL,
    closed    BOOLEAN NOT NULL,
    last_size BIGINT NOT NULL,
    last_root BLOB NOT NULL,
    reason    TEXT NOT NULL
);

-- Empty until the install has an id.
CREATE TABLE audit_install (
    id   BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    name TEXT NOT NULL
);
INSERT INTO audit_install (id, name) VALUES (1, '');
