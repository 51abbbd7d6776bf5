-- +goose Up
-- Settings that the members of a team share: a JSON object that the server does not read.
CREATE TABLE team_preferences (
    team_id  TEXT PRIMARY KEY NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    document TEXT NOT NULL,
    revision BIGINT NOT NULL
);
