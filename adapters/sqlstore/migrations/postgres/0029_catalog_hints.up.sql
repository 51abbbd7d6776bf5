-- +goose Up
-- The places of the commit that newer versions of Ansible refuse, as JSON; NULL for a commit that was not searched.
ALTER TABLE projects ADD COLUMN hints TEXT;
