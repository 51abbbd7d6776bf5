-- +goose Up
ALTER TABLE users ADD COLUMN password_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN full_name TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN email TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN phone TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN links TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN notes TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN updated_at TEXT;
ALTER TABLE users ADD COLUMN revision BIGINT NOT NULL DEFAULT 1;
UPDATE users SET updated_at = created_at;
CREATE INDEX users_admins ON users (id) WHERE role = 'admin';

ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'api';
CREATE INDEX tokens_sessions ON tokens (expires_at, id) WHERE kind = 'session';

CREATE TABLE user_links (
    protocol TEXT NOT NULL,
    issuer   TEXT NOT NULL,
    subject  TEXT NOT NULL,
    user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    PRIMARY KEY (protocol, issuer, subject)
);
CREATE INDEX user_links_user ON user_links (user_id, position);

CREATE TABLE teams (
    id         TEXT PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL
);
CREATE UNIQUE INDEX teams_name ON teams (name);

CREATE TABLE team_members (
    team_id  TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    added_at TEXT NOT NULL,
    PRIMARY KEY (team_id, user_id)
);
CREATE INDEX team_members_user ON team_members (user_id, team_id);

CREATE TABLE orgs (
    id         TEXT PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL
);
CREATE UNIQUE INDEX orgs_name ON orgs (name);

CREATE TABLE org_members (
    org_id   TEXT NOT NULL REFERENCES orgs (id) ON DELETE CASCADE,
    user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role     TEXT NOT NULL,
    added_at TEXT NOT NULL,
    PRIMARY KEY (org_id, user_id)
);
CREATE INDEX org_members_user ON org_members (user_id, role, org_id);

-- An object without a row is not restricted and belongs to no organization. Rows stay when their object is gone: they
-- decide who reads the history that names it.
CREATE TABLE access_objects (
    id         TEXT PRIMARY KEY NOT NULL,
    kind       TEXT NOT NULL,
    org_id     TEXT REFERENCES orgs (id),
    restricted BOOLEAN NOT NULL,
    gone       BOOLEAN NOT NULL
);
CREATE INDEX access_objects_kind ON access_objects (kind, gone, restricted, id);
CREATE INDEX access_objects_org ON access_objects (org_id, kind, gone, restricted, id);

-- An object that carries a grant is restricted. Hidden are the grants of objects that are gone.
CREATE TABLE grants (
    id         TEXT PRIMARY KEY NOT NULL,
    subject    TEXT NOT NULL,
    object     TEXT NOT NULL,
    level      TEXT NOT NULL,
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    hidden     BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE UNIQUE INDEX grants_once ON grants (subject, object, level);
CREATE INDEX grants_object ON grants (object, subject);
CREATE INDEX grants_subject ON grants (subject, hidden, object);
CREATE INDEX grants_created ON grants (created_at, id) WHERE NOT hidden;

-- The one row is locked by whoever changes rights. Changes up to the version forgotten are no longer told.
CREATE TABLE access_state (
    id        BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    version   BIGINT NOT NULL,
    forgotten BIGINT NOT NULL
);
INSERT INTO access_state (id, version, forgotten) VALUES (1, 0, 0);

CREATE TABLE access_changes (
    version BIGINT NOT NULL,
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    PRIMARY KEY (version, kind, name)
);

CREATE TABLE handshakes (
    hash       BLOB PRIMARY KEY NOT NULL,
    kind       TEXT NOT NULL,
    data       BLOB NOT NULL,
    expires_at TEXT NOT NULL
);
CREATE INDEX handshakes_expires ON handshakes (expires_at);

CREATE TABLE witnessed (
    hash       BLOB PRIMARY KEY NOT NULL,
    expires_at TEXT NOT NULL
);
CREATE INDEX witnessed_expires ON witnessed (expires_at);
