-- +goose Up
-- The tokens of workers over the relay, by their SHA-256. The queues are a JSON list.
CREATE TABLE worker_tokens (
    id         TEXT PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    queues     TEXT NOT NULL,
    hash       BLOB NOT NULL,
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    expires_at TEXT
);
CREATE UNIQUE INDEX worker_tokens_name ON worker_tokens (name);
CREATE UNIQUE INDEX worker_tokens_hash ON worker_tokens (hash);
