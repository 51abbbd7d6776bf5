-- +goose Up
-- When a provider last confirmed an account. Earlier sign-ins are unknown, so the time counts from here.
ALTER TABLE users ADD COLUMN confirmed_at TIMESTAMPTZ;
UPDATE users SET confirmed_at = now() WHERE id IN (SELECT user_id FROM user_links);
