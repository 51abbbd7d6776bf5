-- +goose Up
-- The texts of a run that readers do not see, by digest, as a JSON object.
ALTER TABLE runs ADD COLUMN hidden TEXT;
