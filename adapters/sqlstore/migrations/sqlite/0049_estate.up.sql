-- +goose Up
-- Gathered facts wait in run_facts for the estate. -1 is the scope of those whose run is gone.
ALTER TABLE run_facts ADD COLUMN scope_id BIGINT;
UPDATE run_facts SET scope_id = (SELECT r.scope_id FROM runs AS r WHERE r.seq = run_facts.run_seq);
UPDATE run_facts SET scope_id = -1 WHERE NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.seq = run_facts.run_seq);
DROP INDEX run_facts_run;
CREATE INDEX run_facts_gathered ON run_facts (gathered_at, host, run_seq);

CREATE TABLE estate_hosts (
    id   INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL
);

-- What the estate keeps of a run. scope_id is 0 for runs that name only the default queue, and -1 if it is not known.
CREATE TABLE estate_runs (
    id           INTEGER PRIMARY KEY NOT NULL,
    run_id       TEXT NOT NULL,
    scope_id     BIGINT NOT NULL,
    name         TEXT NOT NULL,
    status       TEXT NOT NULL,
    tool         TEXT NOT NULL,
    playbook     TEXT NOT NULL,
    template_id  TEXT NOT NULL,
    inventory_id TEXT NOT NULL,
    dry_run      BOOLEAN NOT NULL,
    ended_at     TEXT
);
CREATE UNIQUE INDEX estate_hosts_name ON estate_hosts (name);
CREATE UNIQUE INDEX estate_runs_run ON estate_runs (run_id);
