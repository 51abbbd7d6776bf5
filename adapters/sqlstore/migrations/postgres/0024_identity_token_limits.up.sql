-- +goose Up
-- Scopes and networks are JSON; without any a token has no such limit. Its parent is the token that it was made with.
ALTER TABLE tokens ADD COLUMN scopes TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN networks TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN parent_id TEXT NOT NULL DEFAULT '';

-- An older binary would ignore the limits.
UPDATE schema_floor SET min_binary = 24;
