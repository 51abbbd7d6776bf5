-- +goose Up
-- The newest contents of each inventory, with how and by whom each came.
CREATE TABLE inventory_versions (
    inventory_id TEXT COLLATE "C" NOT NULL REFERENCES inventories (id) ON DELETE CASCADE,
    number       BIGINT NOT NULL,
    at           TIMESTAMPTZ NOT NULL,
    actor_type   TEXT NOT NULL,
    actor_id     TEXT NOT NULL,
    actor_name   TEXT NOT NULL,
    how          TEXT NOT NULL,
    source_id    TEXT NOT NULL,
    format       TEXT NOT NULL,
    digest       TEXT NOT NULL,
    host_count   BIGINT NOT NULL,
    group_count  BIGINT NOT NULL,
    codec        INTEGER NOT NULL,
    content      BYTEA NOT NULL,
    PRIMARY KEY (inventory_id, number)
);
