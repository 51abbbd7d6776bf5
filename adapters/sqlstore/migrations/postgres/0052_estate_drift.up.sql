-- +goose Up
-- What dry runs compare with the fleet. checked_at is the time of the newest one.
CREATE TABLE drift_targets (
    id           TEXT PRIMARY KEY NOT NULL,
    template_id  TEXT NOT NULL,
    project_id   TEXT NOT NULL,
    playbook     TEXT NOT NULL,
    inventory_id TEXT NOT NULL,
    checked_at   TIMESTAMPTZ NOT NULL
);
CREATE INDEX drift_targets_checked ON drift_targets (checked_at);

-- The newest dry run of a target on a host. No run tells anything of the host that is not newer than reported_at.
CREATE TABLE drift_hosts (
    target_id  TEXT NOT NULL,
    host       TEXT COLLATE "C" NOT NULL,
    reported_at TIMESTAMPTZ NOT NULL,
    run_id     TEXT NOT NULL,
    scope_id   BIGINT NOT NULL,
    partial    BOOLEAN NOT NULL,
    checked    BIGINT NOT NULL,
    unknown    BIGINT NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (target_id, host)
);
CREATE INDEX drift_hosts_host ON drift_hosts (host);

-- A row with cleared_at was repaired by a real run, and no dry run has confirmed it yet.
CREATE TABLE drift_findings (
    target_id        TEXT NOT NULL,
    host             TEXT COLLATE "C" NOT NULL,
    finding_key      TEXT NOT NULL,
    id               TEXT NOT NULL,
    task             TEXT NOT NULL,
    resource         TEXT COLLATE "C" NOT NULL,
    tasks            TEXT NOT NULL,
    path             TEXT NOT NULL,
    diff             TEXT NOT NULL,
    confidence       TEXT NOT NULL,
    run_id           TEXT NOT NULL,
    scope_id         BIGINT NOT NULL,
    checked_at       TIMESTAMPTZ NOT NULL,
    first_seen       TIMESTAMPTZ NOT NULL,
    last_seen        TIMESTAMPTZ NOT NULL,
    unconfirmed      BOOLEAN NOT NULL,
    reconcile_run_id TEXT NOT NULL,
    cleared_at       TIMESTAMPTZ,
    PRIMARY KEY (target_id, host, finding_key)
);
CREATE UNIQUE INDEX drift_findings_id ON drift_findings (id);
CREATE INDEX drift_findings_host ON drift_findings (host);
CREATE INDEX drift_findings_reconcile ON drift_findings (reconcile_run_id) WHERE reconcile_run_id <> '';

-- What is left out of drift, as the name says: host and resource. Rules are of no organization; the column is there
-- because every record has it.
CREATE TABLE drift_ignores (
    id         TEXT PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    org_id     TEXT REFERENCES orgs (id),
    created_by TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    revision   BIGINT NOT NULL,
    host       TEXT NOT NULL,
    resource   TEXT NOT NULL,
    reason     TEXT NOT NULL,
    expires_at TIMESTAMPTZ
);
CREATE UNIQUE INDEX drift_ignores_name ON drift_ignores (name);
