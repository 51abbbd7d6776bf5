-- +goose Up
CREATE TABLE runs (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    id               TEXT NOT NULL,
    kind             TEXT NOT NULL,
    status           TEXT NOT NULL,
    name             TEXT,
    tool             TEXT,
    playbook         TEXT,
    command          TEXT,
    spec             TEXT,
    labels           TEXT,
    queue            TEXT NOT NULL,
    priority         INTEGER NOT NULL,
    source           TEXT,
    source_id        TEXT,
    retry_of         TEXT,
    rerun_of         TEXT,
    actor_type       TEXT,
    actor_id         TEXT,
    actor_name       TEXT,
    change_label     TEXT,
    commit_id        TEXT,
    lineage          TEXT,
    parent_id        TEXT,
    shard_index      INTEGER,
    shard_count      INTEGER,
    step_name        TEXT,
    attempt          INTEGER,
    claimable        BOOLEAN NOT NULL,
    created_at       TEXT NOT NULL,
    queued_at        TEXT,
    started_at       TEXT,
    ended_at         TEXT,
    exit_code        INTEGER,
    error            TEXT,
    warnings         TEXT,
    held_by          TEXT,
    decision         TEXT,
    worker           TEXT,
    epoch            BIGINT NOT NULL,
    begun            BOOLEAN NOT NULL,
    lease_expires_at TEXT,
    cancel_requested BOOLEAN NOT NULL,
    host_counts      TEXT,
    hosts_touched    INTEGER,
    event_count      BIGINT NOT NULL,
    log_bytes        BIGINT NOT NULL,
    log_omitted      BIGINT NOT NULL,
    log_sha256       TEXT,
    revision         BIGINT NOT NULL,
    events_purged    BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE UNIQUE INDEX runs_id ON runs (id);
CREATE INDEX runs_created ON runs (created_at, seq) WHERE parent_id IS NULL;
-- The state is often asked for with one of the columns behind it, which then needs no look at the row.
CREATE INDEX runs_status ON runs (status, created_at, seq, tool, queue, source) WHERE parent_id IS NULL;
CREATE INDEX runs_tool ON runs (tool, created_at, seq) WHERE parent_id IS NULL;
CREATE INDEX runs_queue ON runs (queue, created_at, seq) WHERE parent_id IS NULL;
CREATE INDEX runs_source ON runs (source, created_at, seq) WHERE parent_id IS NULL;
CREATE INDEX runs_source_id ON runs (source_id, created_at, seq) WHERE parent_id IS NULL AND source_id IS NOT NULL;
CREATE INDEX runs_actor_id ON runs (actor_id, created_at, seq) WHERE parent_id IS NULL AND actor_id IS NOT NULL;
CREATE INDEX runs_actor_name ON runs (actor_name, created_at, seq) WHERE parent_id IS NULL AND actor_name IS NOT NULL;
CREATE INDEX runs_change ON runs (change_label, created_at, seq) WHERE parent_id IS NULL AND change_label IS NOT NULL;
CREATE INDEX runs_lineage ON runs (lineage, created_at, seq) WHERE lineage IS NOT NULL;
CREATE INDEX runs_children ON runs (parent_id, shard_index, seq) WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX runs_shard ON runs (parent_id, shard_index) WHERE kind = 'shard';
CREATE UNIQUE INDEX runs_step ON runs (parent_id, step_name, attempt) WHERE kind = 'step';
CREATE INDEX runs_claim ON runs (queue, priority DESC, seq) WHERE status = 'pending' AND claimable;
CREATE INDEX runs_waiting ON runs (queue, queued_at) WHERE status = 'pending';
CREATE INDEX runs_held ON runs (worker) WHERE status = 'running' AND worker IS NOT NULL;
CREATE INDEX runs_ended ON runs (ended_at, seq) WHERE ended_at IS NOT NULL AND NOT events_purged;

-- What lists never show, so that a page of runs and an update of one stay small.
CREATE TABLE run_documents (
    run_seq     BIGINT PRIMARY KEY NOT NULL,
    vars        TEXT,
    env         TEXT,
    outputs     TEXT,
    graph       TEXT,
    shard_hosts TEXT,
    limit_hosts TEXT
);

-- How many runs there are; the slot spreads writers over rows.
CREATE TABLE run_counts (
    status TEXT NOT NULL,
    queue  TEXT NOT NULL,
    top    BOOLEAN NOT NULL,
    slot   INTEGER NOT NULL,
    n      BIGINT NOT NULL,
    PRIMARY KEY (status, queue, top, slot)
);

CREATE TABLE run_labels (
    run_seq    BIGINT NOT NULL,
    key        TEXT NOT NULL,
    value      TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (run_seq, key)
);
CREATE INDEX run_labels_value ON run_labels (key, value, created_at, run_seq);

-- The words are made by the server: every character that is not ASCII belongs to one. The rowid is the run's seq.
CREATE VIRTUAL TABLE run_search USING fts5 (
    words, content = '', contentless_delete = 1, detail = none, prefix = '1 2 3 4 5 6 7 8 9 10 11 12', tokenize = 'ascii'
);
