-- +goose Up
-- How many runs may have a slot of a key at a time; a key without a row has no limit, or 1 if it is a lock or a host.
CREATE TABLE slot_limits (
    key TEXT PRIMARY KEY,
    n INTEGER NOT NULL
);
-- The keys of unfinished runs without a parent. The state is 0 for a run that was not tried, 1 for one that waits, and
-- 2 for one that has its slot. Of waiting runs that with the least rank comes first: the negative priority.
CREATE TABLE run_slots (
    run_seq BIGINT NOT NULL,
    key TEXT NOT NULL,
    state INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    PRIMARY KEY (run_seq, key)
);
CREATE INDEX run_slots_key ON run_slots (key, state, rank, run_seq);
CREATE INDEX run_slots_waiting ON run_slots (key) WHERE state = 1;
-- A gated run has to get slots, itself or with its parent, before it is executed. A slotted one has rows above.
ALTER TABLE runs ADD COLUMN gated BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE runs ADD COLUMN slotted BOOLEAN NOT NULL DEFAULT FALSE;
-- Runs below a parent that wait with it.
CREATE INDEX runs_parked ON runs (parent_id)
WHERE status = 'pending' AND gated AND NOT claimable AND parent_id IS NOT NULL;

-- An older binary would ignore the limits.
UPDATE schema_floor SET min_binary = 45;
