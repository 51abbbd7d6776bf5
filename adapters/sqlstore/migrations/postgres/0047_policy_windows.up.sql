-- +goose Up
-- When runs may start. Windows are of no organization; the column is there because every record has it.
CREATE TABLE windows (
    id         TEXT PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    org_id     TEXT REFERENCES orgs (id),
    created_by TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    revision   BIGINT NOT NULL,
    mode       TEXT NOT NULL,
    enabled    BOOLEAN NOT NULL,
    criteria   TEXT NOT NULL,
    cron       TEXT NOT NULL,
    duration   BIGINT NOT NULL,
    begins     TEXT NOT NULL,
    ends       TEXT NOT NULL,
    timezone   TEXT NOT NULL,
    outside    TEXT NOT NULL
);
CREATE UNIQUE INDEX windows_name ON windows (name);

-- The row 1 counts the changes of policies and windows, the row 2 those of windows.
INSERT INTO policy_versions (id, version) VALUES (2, 0);

-- What the windows say about pending runs without a parent that were never claimed. window_id is empty for a run that may
-- start; what a row says holds until again_at, for ever if that is null.
CREATE TABLE run_windows (
    run_seq     BIGINT PRIMARY KEY NOT NULL,
    window_id   TEXT NOT NULL,
    window_name TEXT NOT NULL,
    since       TIMESTAMPTZ NOT NULL,
    opens_at    TIMESTAMPTZ,
    again_at    TIMESTAMPTZ,
    version     BIGINT NOT NULL,
    overridden  BOOLEAN NOT NULL
);
CREATE INDEX run_windows_again ON run_windows (again_at) WHERE NOT overridden AND again_at IS NOT NULL;

-- The only row has the version of the windows up to which all runs without a row above were asked about.
CREATE TABLE run_windows_asked (
    id      BIGINT PRIMARY KEY NOT NULL,
    version BIGINT NOT NULL
);
INSERT INTO run_windows_asked (id, version) VALUES (1, 0);
