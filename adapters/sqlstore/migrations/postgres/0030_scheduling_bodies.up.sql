-- +goose Up
-- Rows hold the ids of deliveries and, of authenticated ones, the digests of their bodies, which are known longer.
ALTER TABLE hook_deliveries ADD COLUMN body BOOLEAN NOT NULL DEFAULT FALSE;
