-- +goose Up
CREATE TABLE run_events (
    run_seq   BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq  BIGINT NOT NULL,
    codec     INTEGER NOT NULL,
    data      BYTEA NOT NULL,
    PRIMARY KEY (run_seq, first_seq)
);

CREATE TABLE run_logs (
    run_seq BIGINT NOT NULL,
    start   BIGINT NOT NULL,
    length  BIGINT NOT NULL,
    codec   INTEGER NOT NULL,
    data    BYTEA NOT NULL,
    PRIMARY KEY (run_seq, start)
);

-- listed_at and listed_seq place the run that the run list shows for this one: its parent, or itself.
CREATE TABLE run_hosts (
    run_seq     BIGINT NOT NULL,
    host        TEXT NOT NULL,
    listed_at   TIMESTAMPTZ NOT NULL,
    listed_seq  BIGINT NOT NULL,
    ok          INTEGER NOT NULL,
    changed     INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    unreachable INTEGER NOT NULL,
    skipped     INTEGER NOT NULL,
    rescued     INTEGER NOT NULL,
    ignored     INTEGER NOT NULL,
    worst       TEXT NOT NULL,
    duration_us BIGINT NOT NULL,
    PRIMARY KEY (run_seq, host)
);
CREATE INDEX run_hosts_host ON run_hosts (host, listed_at, listed_seq, run_seq);

CREATE TABLE run_tasks (
    run_seq     BIGINT NOT NULL,
    position    INTEGER NOT NULL,
    task_id     TEXT NOT NULL,
    play        TEXT NOT NULL,
    task        TEXT NOT NULL,
    listed_at   TIMESTAMPTZ NOT NULL,
    listed_seq  BIGINT NOT NULL,
    ok          INTEGER NOT NULL,
    changed     INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    skipped     INTEGER NOT NULL,
    hosts       INTEGER NOT NULL,
    duration_us BIGINT NOT NULL,
    mean_us     BIGINT NOT NULL,
    max_us      BIGINT NOT NULL,
    PRIMARY KEY (run_seq, position)
);
CREATE INDEX run_tasks_task ON run_tasks (task, listed_at, listed_seq, run_seq);

CREATE TABLE run_facts (
    host        TEXT NOT NULL,
    gathered_at TIMESTAMPTZ NOT NULL,
    run_seq     BIGINT NOT NULL,
    run_id      TEXT NOT NULL,
    codec       INTEGER NOT NULL,
    facts       BYTEA NOT NULL,
    PRIMARY KEY (host, gathered_at, run_seq)
);
CREATE INDEX run_facts_run ON run_facts (run_seq);

CREATE TABLE host_timings (
    lineage TEXT NOT NULL,
    host    TEXT NOT NULL,
    runs    INTEGER NOT NULL,
    mean_us BIGINT NOT NULL,
    PRIMARY KEY (lineage, host)
);

CREATE TABLE idempotency_keys (
    actor_id   TEXT NOT NULL,
    scope      TEXT NOT NULL,
    key        TEXT NOT NULL,
    digest     BYTEA NOT NULL,
    run_id     TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (actor_id, scope, key)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_run ON idempotency_keys (run_id);

CREATE TABLE stream_tickets (
    hash       BYTEA PRIMARY KEY NOT NULL,
    run_id     TEXT NOT NULL,
    account    TEXT NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX stream_tickets_expires ON stream_tickets (expires_at);
CREATE INDEX stream_tickets_run ON stream_tickets (run_id);
