-- +goose Up
-- A message waits for each of its subscribers apart. One without a subscriber is of a binary from before and for all.
ALTER TABLE outbox ADD COLUMN subscriber TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN redelivered BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE outbox DROP CONSTRAINT outbox_pkey;
ALTER TABLE outbox ADD PRIMARY KEY (subscriber, id);

-- Messages that a subscriber did not handle.
CREATE TABLE dead_letters (
    id         TEXT PRIMARY KEY NOT NULL,
    message_id TEXT NOT NULL,
    subscriber TEXT NOT NULL,
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL,
    at         TIMESTAMPTZ NOT NULL,
    data       TEXT NOT NULL,
    attempts   INTEGER NOT NULL,
    error      TEXT NOT NULL,
    first_at   TIMESTAMPTZ NOT NULL,
    last_at    TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX dead_letters_once ON dead_letters (message_id, subscriber);
CREATE INDEX dead_letters_last_at ON dead_letters (last_at, id);
