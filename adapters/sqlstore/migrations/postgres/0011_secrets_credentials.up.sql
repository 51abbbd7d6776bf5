-- +goose Up
-- Of secrets there is the sealed form alone.
CREATE TABLE credentials (
    id             TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name           TEXT COLLATE "C" NOT NULL,
    org_id         TEXT REFERENCES orgs (id),
    created_by     TEXT NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    updated_at     TIMESTAMPTZ NOT NULL,
    revision       BIGINT NOT NULL,
    kind           TEXT NOT NULL,
    type_id        TEXT COLLATE "C" NOT NULL,
    settings       TEXT NOT NULL,
    fields         TEXT NOT NULL,
    source         TEXT NOT NULL,
    has_secret     BOOLEAN NOT NULL,
    secret_version BIGINT NOT NULL,
    sealed         BYTEA
);
CREATE UNIQUE INDEX credentials_name ON credentials (name, COALESCE(org_id, ''));
CREATE INDEX credentials_by_name ON credentials (name, id);
CREATE INDEX credentials_org ON credentials (org_id, name, id);
CREATE INDEX credentials_type ON credentials (type_id, name, id) WHERE type_id <> '';

-- Types are of no organization; the column is there because every record has it.
CREATE TABLE credential_types (
    id         TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    org_id     TEXT REFERENCES orgs (id),
    created_by TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    revision   BIGINT NOT NULL,
    fields     TEXT NOT NULL,
    inject     TEXT NOT NULL
);
CREATE UNIQUE INDEX credential_types_name ON credential_types (name);

-- Minted secrets that have to be revoked once their owner is done with them. Those of a run are looked at from the start, those of
-- anything else when it can no longer need them; who looks moves due_at on.
CREATE TABLE secret_leases (
    id            TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    owner_id      TEXT COLLATE "C" NOT NULL,
    epoch         BIGINT NOT NULL,
    of_run        BOOLEAN NOT NULL,
    credential_id TEXT COLLATE "C" NOT NULL,
    engine        TEXT NOT NULL,
    sealed        BYTEA NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    due_at        TIMESTAMPTZ NOT NULL,
    attempts      BIGINT NOT NULL
);
CREATE INDEX secret_leases_owner ON secret_leases (owner_id, epoch, id);
CREATE INDEX secret_leases_due ON secret_leases (due_at, id);
