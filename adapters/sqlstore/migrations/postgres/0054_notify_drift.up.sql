-- +goose Up
-- A run may find new drift several times, once for each of its shards and steps. The cause is the message that told of it.
ALTER TABLE notify_deliveries ADD COLUMN cause TEXT NOT NULL DEFAULT '';
ALTER TABLE notify_deliveries ADD COLUMN drift TEXT;
DROP INDEX notify_deliveries_once;
CREATE UNIQUE INDEX notify_deliveries_once ON notify_deliveries (run_id, event, cause, origin, position);
