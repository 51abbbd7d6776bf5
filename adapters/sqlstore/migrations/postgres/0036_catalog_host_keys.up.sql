-- +goose Up
-- How runs of an inventory treat the keys of hosts. The known keys are with its content, so that no list reads past them.
ALTER TABLE inventories ADD COLUMN host_key_policy TEXT NOT NULL DEFAULT 'accept-new';
ALTER TABLE inventory_contents ADD COLUMN known_hosts_codec INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inventory_contents ADD COLUMN known_hosts BYTEA NOT NULL DEFAULT '';
