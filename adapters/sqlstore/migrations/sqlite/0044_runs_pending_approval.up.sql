-- +goose Up
-- Held runs, the steps of pipelines too, which the other indexes leave out.
CREATE INDEX runs_pending_approval ON runs (created_at, seq) WHERE status = 'pending_approval';
