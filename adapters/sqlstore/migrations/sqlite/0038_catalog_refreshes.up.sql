-- +goose Up
-- The refreshes of inventory sources that executors do, one for each source. A new round replaces one that is over; the
-- epoch grows with each claim. Sealed are the secrets that a worker over a relay got.
CREATE TABLE source_refreshes (
    source_id  TEXT PRIMARY KEY NOT NULL REFERENCES inventory_sources (id) ON DELETE CASCADE,
    round      BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    queue      TEXT NOT NULL,
    state      TEXT NOT NULL,
    asked_at   TEXT NOT NULL,
    worker     TEXT NOT NULL,
    epoch      BIGINT NOT NULL,
    expires_at TEXT,
    done_at    TEXT,
    hash       BLOB,
    sealed     BLOB,
    failure    TEXT NOT NULL,
    format     TEXT NOT NULL,
    content    BLOB
);
CREATE INDEX source_refreshes_waiting ON source_refreshes (state, asked_at);
