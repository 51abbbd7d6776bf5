-- +goose Up
-- The newest deliveries of each trigger and what became of them.
CREATE TABLE hook_log (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    trigger_id  TEXT NOT NULL REFERENCES triggers (id) ON DELETE CASCADE,
    at          TEXT NOT NULL,
    verdict     TEXT NOT NULL,
    event       TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    reason      TEXT NOT NULL,
    run_id      TEXT NOT NULL
);
CREATE INDEX hook_log_trigger ON hook_log (trigger_id, seq);
