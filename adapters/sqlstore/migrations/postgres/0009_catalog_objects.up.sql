-- +goose Up
CREATE TABLE projects (
    id            TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    org_id        TEXT REFERENCES orgs (id),
    created_by    TEXT NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    updated_at    TIMESTAMPTZ NOT NULL,
    revision      BIGINT NOT NULL,
    repo_url      TEXT NOT NULL,
    branch        TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    install_deps  BOOLEAN NOT NULL,
    commit_id     TEXT NOT NULL,
    synced_at     TIMESTAMPTZ,
    last_error    TEXT NOT NULL
);
CREATE UNIQUE INDEX projects_name ON projects (name, COALESCE(org_id, ''));
CREATE INDEX projects_by_name ON projects (name, id);
CREATE INDEX projects_org ON projects (org_id, name, id);

CREATE TABLE inventories (
    id             TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name           TEXT COLLATE "C" NOT NULL,
    org_id         TEXT REFERENCES orgs (id),
    created_by     TEXT NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    updated_at     TIMESTAMPTZ NOT NULL,
    revision       BIGINT NOT NULL,
    format         TEXT NOT NULL,
    credential_ids TEXT NOT NULL,
    queue          TEXT NOT NULL,
    host_count     BIGINT NOT NULL,
    group_count    BIGINT NOT NULL,
    digest         TEXT NOT NULL
);
CREATE UNIQUE INDEX inventories_name ON inventories (name, COALESCE(org_id, ''));
CREATE INDEX inventories_by_name ON inventories (name, id);
CREATE INDEX inventories_org ON inventories (org_id, name, id);

-- What an inventory says is apart from it, so that no list reads past it.
CREATE TABLE inventory_contents (
    inventory_id TEXT COLLATE "C" PRIMARY KEY NOT NULL REFERENCES inventories (id) ON DELETE CASCADE,
    codec        INTEGER NOT NULL,
    content      BYTEA NOT NULL
);

CREATE TABLE inventory_sources (
    id               TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name             TEXT COLLATE "C" NOT NULL,
    org_id           TEXT REFERENCES orgs (id),
    created_by       TEXT NOT NULL,
    created_at       TIMESTAMPTZ NOT NULL,
    updated_at       TIMESTAMPTZ NOT NULL,
    revision         BIGINT NOT NULL,
    kind             TEXT NOT NULL,
    config           TEXT NOT NULL,
    path             TEXT NOT NULL,
    project_id       TEXT COLLATE "C" NOT NULL,
    credential_id    TEXT NOT NULL,
    inventory_id     TEXT COLLATE "C" NOT NULL,
    update_on_launch BOOLEAN NOT NULL,
    sync_interval    BIGINT NOT NULL,
    synced_at        TIMESTAMPTZ,
    last_error       TEXT NOT NULL,
    next_sync_at     TIMESTAMPTZ
);
CREATE UNIQUE INDEX inventory_sources_name ON inventory_sources (name, COALESCE(org_id, ''));
CREATE INDEX inventory_sources_by_name ON inventory_sources (name, id);
CREATE INDEX inventory_sources_org ON inventory_sources (org_id, name, id);
CREATE INDEX inventory_sources_inventory ON inventory_sources (inventory_id, id);
CREATE INDEX inventory_sources_due ON inventory_sources (next_sync_at, id) WHERE next_sync_at IS NOT NULL;

CREATE TABLE templates (
    id         TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    org_id     TEXT REFERENCES orgs (id),
    created_by TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    revision   BIGINT NOT NULL,
    spec       TEXT NOT NULL
);
CREATE UNIQUE INDEX templates_name ON templates (name, COALESCE(org_id, ''));
CREATE INDEX templates_by_name ON templates (name, id);
CREATE INDEX templates_org ON templates (org_id, name, id);

-- What objects of every context name.
CREATE TABLE object_refs (
    owner  TEXT COLLATE "C" NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, target)
);
CREATE INDEX object_refs_target ON object_refs (target, owner);
