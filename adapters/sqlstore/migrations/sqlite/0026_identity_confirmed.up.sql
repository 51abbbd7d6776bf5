-- +goose Up
-- When a provider last confirmed an account. Earlier sign-ins are unknown, so the time counts from here.
ALTER TABLE users ADD COLUMN confirmed_at TEXT;
UPDATE users SET confirmed_at = strftime('%Y-%m-%dT%H:%M:%S', 'now') || '.000000Z' WHERE id IN (SELECT user_id FROM user_links);
