-- +goose Up
-- Settings that clients keep for an account: a JSON object that the server does not read.
CREATE TABLE user_preferences (
    user_id  TEXT PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    revision BIGINT NOT NULL
);
