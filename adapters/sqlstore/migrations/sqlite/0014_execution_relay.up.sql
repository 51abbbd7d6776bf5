-- +goose Up
-- The capability of a run's newest claim over a relay, by its SHA-256. It goes with its run.
CREATE TABLE relay_claims (
    run_id     TEXT PRIMARY KEY NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    epoch      BIGINT NOT NULL,
    worker     TEXT NOT NULL,
    hash       BLOB NOT NULL,
    claimed_at TEXT NOT NULL
);
CREATE UNIQUE INDEX relay_claims_hash ON relay_claims (hash);

-- The labels of a worker as a JSON object. A binary from before reports none.
ALTER TABLE workers ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';
