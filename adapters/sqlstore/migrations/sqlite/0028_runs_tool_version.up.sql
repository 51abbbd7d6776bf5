-- +goose Up
-- The version of the tool that executed the run, NULL where the tool did not tell it.
ALTER TABLE runs ADD COLUMN tool_version TEXT;
