-- +goose Up
-- The rules that hold or deny requests. They are of no organization; the column is there because every record has it.
CREATE TABLE policies (
    id                TEXT PRIMARY KEY NOT NULL,
    name              TEXT NOT NULL,
    org_id            TEXT REFERENCES orgs (id),
    created_by        TEXT NOT NULL,
    created_at        TIMESTAMPTZ NOT NULL,
    updated_at        TIMESTAMPTZ NOT NULL,
    revision          BIGINT NOT NULL,
    effect            TEXT NOT NULL,
    enabled           BOOLEAN NOT NULL,
    criteria          TEXT NOT NULL,
    exclude_dry_run   BOOLEAN NOT NULL,
    risk_at_least     TEXT NOT NULL,
    actors            TEXT NOT NULL,
    distinct_approver BOOLEAN NOT NULL,
    message           TEXT NOT NULL,
    approvals_needed  BIGINT NOT NULL,
    approver_teams    TEXT NOT NULL
);
CREATE UNIQUE INDEX policies_name ON policies (name);

-- The only row counts the changes of all policies.
CREATE TABLE policy_versions (
    id      BIGINT PRIMARY KEY NOT NULL,
    version BIGINT NOT NULL
);
INSERT INTO policy_versions (id, version) VALUES (1, 0);
