-- +goose Up
-- A message waits for each of its subscribers apart. One without a subscriber is of a binary from before and for all.
CREATE TABLE outbox_messages (
    subscriber  TEXT NOT NULL DEFAULT '',
    id          TEXT NOT NULL,
    name        TEXT NOT NULL,
    version     INTEGER NOT NULL,
    at          TEXT NOT NULL,
    data        TEXT NOT NULL,
    redelivered BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (subscriber, id)
);
INSERT INTO outbox_messages (id, name, version, at, data) SELECT id, name, version, at, data FROM outbox;
DROP TABLE outbox;
ALTER TABLE outbox_messages RENAME TO outbox;

-- Messages that a subscriber did not handle.
CREATE TABLE dead_letters (
    id         TEXT PRIMARY KEY NOT NULL,
    message_id TEXT NOT NULL,
    subscriber TEXT NOT NULL,
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL,
    at         TEXT NOT NULL,
    data       TEXT NOT NULL,
    attempts   INTEGER NOT NULL,
    error      TEXT NOT NULL,
    first_at   TEXT NOT NULL,
    last_at    TEXT NOT NULL
);
CREATE UNIQUE INDEX dead_letters_once ON dead_letters (message_id, subscriber);
CREATE INDEX dead_letters_last_at ON dead_letters (last_at, id);
