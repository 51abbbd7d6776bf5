-- +goose Up
CREATE TABLE workers (
    name      TEXT PRIMARY KEY NOT NULL,
    kind      TEXT NOT NULL,
    queues    TEXT NOT NULL,
    executors INTEGER NOT NULL,
    running   INTEGER NOT NULL,
    version   TEXT NOT NULL,
    seen_at   TIMESTAMPTZ NOT NULL
);
