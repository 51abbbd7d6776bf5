-- +goose Up
-- What masks the reports of a claim over a relay: its secrets, and the end of its output that may begin one, both sealed.
-- A row goes with its claim.
CREATE TABLE relay_secrets (
    run_id TEXT COLLATE "C" PRIMARY KEY NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    epoch  BIGINT NOT NULL,
    sealed BYTEA NOT NULL,
    tail   BYTEA
);
