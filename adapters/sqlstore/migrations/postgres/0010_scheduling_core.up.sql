-- +goose Up
CREATE TABLE schedules (
    id          TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    org_id      TEXT REFERENCES orgs (id),
    created_by  TEXT NOT NULL,
    owner       TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    revision    BIGINT NOT NULL,
    cron        TEXT NOT NULL,
    timezone    TEXT NOT NULL,
    enabled     BOOLEAN NOT NULL,
    template_id TEXT COLLATE "C" NOT NULL,
    target      TEXT NOT NULL,
    next_run_at TIMESTAMPTZ,
    last_run_at TIMESTAMPTZ,
    last_run_id TEXT NOT NULL,
    last_error  TEXT NOT NULL
);
CREATE UNIQUE INDEX schedules_name ON schedules (name, COALESCE(org_id, ''));
CREATE INDEX schedules_by_name ON schedules (name, id);
CREATE INDEX schedules_org ON schedules (org_id, name, id);
CREATE INDEX schedules_template ON schedules (template_id, name, id) WHERE template_id <> '';
CREATE INDEX schedules_due ON schedules (next_run_at, id) WHERE enabled;

-- What decides who may read a schedule: the objects that its target names.
CREATE TABLE schedule_objects (
    schedule_id TEXT COLLATE "C" NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    object      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (schedule_id, object)
);

-- Slots that fired. One without an end belongs to the server that holds it, and to nobody once its hold is over.
CREATE TABLE schedule_slots (
    schedule_id TEXT COLLATE "C" NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    slot        TIMESTAMPTZ NOT NULL,
    held_until  TIMESTAMPTZ NOT NULL,
    run_id      TEXT NOT NULL,
    reason      TEXT NOT NULL,
    settled_at  TIMESTAMPTZ,
    PRIMARY KEY (schedule_id, slot)
);
CREATE INDEX schedule_slots_held ON schedule_slots (held_until) WHERE settled_at IS NULL;
CREATE INDEX schedule_slots_settled ON schedule_slots (settled_at) WHERE settled_at IS NOT NULL;

-- Of a trigger's token the SHA-256 alone is here, and its signing secret is sealed.
CREATE TABLE triggers (
    id                TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name              TEXT COLLATE "C" NOT NULL,
    org_id            TEXT REFERENCES orgs (id),
    created_by        TEXT NOT NULL,
    owner             TEXT NOT NULL,
    created_at        TIMESTAMPTZ NOT NULL,
    updated_at        TIMESTAMPTZ NOT NULL,
    revision          BIGINT NOT NULL,
    template_id       TEXT COLLATE "C" NOT NULL,
    require_signature BOOLEAN NOT NULL,
    branch            TEXT NOT NULL,
    events            TEXT NOT NULL,
    token_hash        BYTEA NOT NULL,
    sealed            BYTEA NOT NULL,
    last_fired_at     TIMESTAMPTZ,
    last_run_id       TEXT NOT NULL,
    last_error        TEXT NOT NULL
);
CREATE UNIQUE INDEX triggers_name ON triggers (name, COALESCE(org_id, ''));
CREATE UNIQUE INDEX triggers_token ON triggers (token_hash);
CREATE INDEX triggers_by_name ON triggers (name, id);
CREATE INDEX triggers_org ON triggers (org_id, name, id);
CREATE INDEX triggers_template ON triggers (template_id, name, id);

-- Deliveries of the last hour, so that one that comes again fires nothing anew.
CREATE TABLE hook_deliveries (
    trigger_id  TEXT COLLATE "C" NOT NULL REFERENCES triggers (id) ON DELETE CASCADE,
    delivery_id TEXT NOT NULL,
    seen_at     TIMESTAMPTZ NOT NULL,
    held_until  TIMESTAMPTZ NOT NULL,
    run_id      TEXT NOT NULL,
    ignored     TEXT NOT NULL,
    done        BOOLEAN NOT NULL,
    PRIMARY KEY (trigger_id, delivery_id)
);
CREATE INDEX hook_deliveries_seen ON hook_deliveries (seen_at);
