-- +goose Up
-- Targets that are told of what happened to a run, one row for each event. They go with their run. A pending one is due when nobody has
-- booked it: due_at is also the end of a booking. The lane is what deliveries to one target have in common.
CREATE TABLE notify_deliveries (
    id         TEXT PRIMARY KEY NOT NULL,
    run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    event      TEXT NOT NULL,
    origin     TEXT NOT NULL,
    position   INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    target     TEXT NOT NULL,
    digest     TEXT NOT NULL,
    lane       TEXT NOT NULL,
    status     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    attempts   INTEGER NOT NULL,
    due_at     TEXT NOT NULL,
    created_at TEXT NOT NULL,
    ended_at   TEXT
);
CREATE UNIQUE INDEX notify_deliveries_once ON notify_deliveries (run_id, event, origin, position);
CREATE INDEX notify_deliveries_due ON notify_deliveries (lane, due_at, id) WHERE status = 'pending';

-- What of targets is secret, sealed. Equal ones are here once.
CREATE TABLE notify_targets (
    ref        TEXT PRIMARY KEY NOT NULL,
    digest     TEXT NOT NULL,
    sealed     BLOB NOT NULL,
    created_at TEXT NOT NULL
);
CREATE UNIQUE INDEX notify_targets_digest ON notify_targets (digest);
