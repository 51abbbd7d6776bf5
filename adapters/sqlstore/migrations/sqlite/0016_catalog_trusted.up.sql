-- +goose Up
-- Only what an admin trusts comes from a source with templates and connection variables. Contents from before stay until the
-- next refresh of their source.
ALTER TABLE inventory_sources ADD COLUMN trusted BOOLEAN NOT NULL DEFAULT FALSE;
-- The reserved names that the last good content of a source had.
ALTER TABLE inventory_sources ADD COLUMN dropped TEXT NOT NULL DEFAULT '';
