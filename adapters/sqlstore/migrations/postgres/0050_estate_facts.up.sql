-- +goose Up
-- Facts of hosts as differences. Times are microseconds since 1970, and hours are whole hours since then: there are many
-- rows of estate_readings, so each is small.
ALTER TABLE estate_hosts ALTER COLUMN name TYPE TEXT COLLATE "C";

-- The newest reading of each host. hash is that of its stable facts, changes counts since the last snapshot.
CREATE TABLE estate_facts (
    host_id  BIGINT PRIMARY KEY NOT NULL,
    first_at BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    run_id   BIGINT NOT NULL,
    hash     BYTEA NOT NULL,
    changes  BIGINT NOT NULL
);

CREATE TABLE estate_readings (
    host_id BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    run_id  BIGINT NOT NULL,
    PRIMARY KEY (host_id, at)
);

-- What a reading changed, compared with the reading before it.
CREATE TABLE estate_changes (
    host_id BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    codec   BIGINT NOT NULL,
    facts   BYTEA NOT NULL,
    PRIMARY KEY (host_id, at)
);
CREATE INDEX estate_changes_at ON estate_changes (at, host_id);

-- Whole documents, so that few changes lie between a reading and the next document. That of the newest reading has the
-- largest time.
CREATE TABLE estate_snapshots (
    host_id        BIGINT NOT NULL,
    at             BIGINT NOT NULL,
    codec          BIGINT NOT NULL,
    facts          BYTEA NOT NULL,
    volatile_codec BIGINT NOT NULL,
    volatile       BYTEA NOT NULL,
    PRIMARY KEY (host_id, at)
);

-- Readings by hour, by their scope and by that of the reading before.
CREATE TABLE estate_buckets (
    hour         BIGINT NOT NULL,
    scope_id     BIGINT NOT NULL,
    before_scope BIGINT NOT NULL,
    readings     BIGINT NOT NULL,
    changed      BIGINT NOT NULL,
    first_at     BIGINT NOT NULL,
    PRIMARY KEY (hour, scope_id, before_scope)
);
