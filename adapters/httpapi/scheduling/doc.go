// Package scheduling is the surface of what fires by itself: schedules, triggers, and the hooks that forges call. The
// token and the secret of a trigger are shown once, by what makes them, and stand in no log.
package scheduling
