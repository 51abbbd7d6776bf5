-- +goose Up
-- What the runs of a worker get, as a JSON object. A binary from before reports nothing.
ALTER TABLE workers ADD COLUMN isolation TEXT NOT NULL DEFAULT '{}';
