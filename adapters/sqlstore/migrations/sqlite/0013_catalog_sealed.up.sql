-- +goose Up
-- What of a source is secret, sealed: the values of its headers. Rows from before have them in config until they are changed.
ALTER TABLE inventory_sources ADD COLUMN sealed BLOB;

-- A binary that seals nothing would send masks for values.
UPDATE schema_floor SET min_binary = 13;
