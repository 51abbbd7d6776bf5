// Package scheduling serves the API of schedules and triggers, and the hooks that forges call. Only the answers that
// create the token and the secret of a trigger contain them, and no log does.
package scheduling
