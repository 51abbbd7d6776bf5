-- +goose Up
-- The plan of a dry run that reported one, and of a run that applies one: planned_by is empty for a dry run, and apply_id
-- for a plan that no run applies. findings are packed JSON, and target is a digest of the settings that they are about.
CREATE TABLE run_plans (
    run_seq    BIGINT PRIMARY KEY NOT NULL,
    target     TEXT NOT NULL,
    digest     TEXT NOT NULL,
    summary    TEXT NOT NULL,
    planned_by TEXT NOT NULL,
    apply_id   TEXT NOT NULL,
    planned_at TIMESTAMPTZ NOT NULL,
    codec      INTEGER NOT NULL,
    findings   BYTEA NOT NULL
);
CREATE INDEX run_plans_target ON run_plans (target) WHERE planned_by <> '';
