-- +goose Up
-- The time of the sign-in that a token rests on. A token of an older binary has none.
ALTER TABLE tokens ADD COLUMN signed_in_at TEXT;
UPDATE tokens SET signed_in_at = created_at;
