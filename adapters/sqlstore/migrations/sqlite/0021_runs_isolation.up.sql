-- +goose Up
-- The isolation that a run had, as a JSON object; NULL where it is not known.
ALTER TABLE runs ADD COLUMN isolation TEXT;
