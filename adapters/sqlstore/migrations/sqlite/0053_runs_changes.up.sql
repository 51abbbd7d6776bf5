-- +goose Up
-- The newest runs of any change, among many that have none.
CREATE INDEX runs_changes ON runs (created_at, seq) WHERE parent_id IS NULL AND change_label IS NOT NULL;
