-- +goose Up
CREATE TABLE outbox (
    subscriber TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    name    TEXT NOT NULL,
    version INTEGER NOT NULL,
    at      TIMESTAMPTZ NOT NULL,
    data    TEXT NOT NULL,
    redelivered BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (subscriber, id)
);
