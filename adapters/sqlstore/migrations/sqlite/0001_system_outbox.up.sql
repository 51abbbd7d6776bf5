-- +goose Up
CREATE TABLE outbox (
    id      TEXT PRIMARY KEY NOT NULL,
    name    TEXT NOT NULL,
    version INTEGER NOT NULL,
    at      TEXT NOT NULL,
    data    TEXT NOT NULL
);
