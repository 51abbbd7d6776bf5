-- +goose Up
-- The keys of hosts that the run accepted on its first contact, NULL for none.
ALTER TABLE run_documents ADD COLUMN accepted_host_keys TEXT;
