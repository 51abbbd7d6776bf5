-- +goose Up
-- How many runs on an inventory have a slot at a time, 0 for any number. Templates have theirs in the document: one that
-- has none, as those of before, has 0.
ALTER TABLE inventories ADD COLUMN max_concurrent BIGINT NOT NULL DEFAULT 0;
-- What a schedule does while its last run is unfinished. Those of before did not look.
ALTER TABLE schedules ADD COLUMN overlap TEXT NOT NULL DEFAULT 'allow';
-- How many runs of a queue have a slot at a time, for queues that limit it.
CREATE TABLE queue_limits (
    name           TEXT PRIMARY KEY NOT NULL,
    max_concurrent BIGINT NOT NULL
);
