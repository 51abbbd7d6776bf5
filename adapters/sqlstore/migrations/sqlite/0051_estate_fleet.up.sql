-- +goose Up
-- The newest outcome of each host by the end of its run, in microseconds, and how many results it has.
ALTER TABLE estate_hosts ADD COLUMN outcome TEXT;
ALTER TABLE estate_hosts ADD COLUMN ended_us BIGINT;
ALTER TABLE estate_hosts ADD COLUMN results BIGINT NOT NULL DEFAULT 0;

-- How many hosts of the run were reported, NULL for none yet, and how many rows name the run. A run that no row names is
-- deleted.
ALTER TABLE estate_runs ADD COLUMN reported BIGINT;
ALTER TABLE estate_runs ADD COLUMN named BIGINT;
CREATE INDEX estate_runs_unnamed ON estate_runs (ended_at) WHERE named = 0;

CREATE TABLE estate_results (
    host_id     BIGINT NOT NULL,
    ended_us    BIGINT NOT NULL,
    run_no      BIGINT NOT NULL,
    ok          INTEGER NOT NULL,
    changed     INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    unreachable INTEGER NOT NULL,
    skipped     INTEGER NOT NULL,
    rescued     INTEGER NOT NULL,
    ignored     INTEGER NOT NULL,
    worst       TEXT NOT NULL,
    duration_us BIGINT NOT NULL,
    PRIMARY KEY (host_id, ended_us, run_no)
) WITHOUT ROWID;

CREATE TABLE estate_tasks (
    id      INTEGER PRIMARY KEY NOT NULL,
    name    TEXT NOT NULL,
    seen_us BIGINT NOT NULL
);
CREATE UNIQUE INDEX estate_tasks_name ON estate_tasks (name);
CREATE INDEX estate_tasks_seen ON estate_tasks (seen_us);

-- The newest results of a host (kind 1) or a task (kind 2) in runs of one scope, packed.
CREATE TABLE estate_rings (
    kind       INTEGER NOT NULL,
    subject_id BIGINT NOT NULL,
    scope_id   BIGINT NOT NULL,
    ring       BLOB NOT NULL,
    PRIMARY KEY (kind, subject_id, scope_id)
) WITHOUT ROWID;

-- How many hosts have each outcome.
CREATE TABLE estate_outcomes (
    outcome TEXT NOT NULL PRIMARY KEY,
    n       BIGINT NOT NULL
) WITHOUT ROWID;
