-- +goose Up
-- The first request to cancel a run, NULL if there was none or it was made before. A held run is refreshing while the
-- sources of its inventories are refreshed, before anybody decides about it.
ALTER TABLE runs ADD COLUMN canceled TEXT;
ALTER TABLE runs ADD COLUMN refreshing BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX runs_refreshing ON runs (seq) WHERE refreshing AND status = 'pending_approval';
