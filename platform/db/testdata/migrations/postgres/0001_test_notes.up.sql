-- +goose Up
CREATE TABLE notes (
    id     TEXT NOT NULL PRIMARY KEY,
    body   TEXT NOT NULL DEFAULT '',
    owner  TEXT REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED,
    parent TEXT REFERENCES notes (id),
    n      BIGINT NOT NULL DEFAULT 0,
    at     TIMESTAMPTZ,
    made   TIMESTAMPTZ
);
CREATE UNIQUE INDEX notes_body ON notes (body) WHERE body <> '';
