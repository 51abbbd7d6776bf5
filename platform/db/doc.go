// Package db is the database under every store: one API over SQLite and Postgres.
//
// # Units of work
//
// DB runs units of work as tx.Unit defines them. Stores reach the open transaction only through the context:
// Read(ctx) is the open unit's transaction or else the read pool, Write(ctx) is the open unit's transaction or an
// Internal fault. A nested Do joins the open unit, and an error of a nested Do dooms the whole unit even if its
// caller ignores it. A statement that fails dooms its unit as well, on both engines (Postgres would refuse the rest
// anyway), so expected conflicts are handled with ON CONFLICT. A context that outlives its unit is refused.
//
// One writer commits in groups: waiting units run one after the other in savepoints of one transaction and share one
// COMMIT, its fsync and the work that tx.BeforeCommit defers. Each caller gets its own result. A unit runs on its
// caller's goroutine while the writer waits for it; its context is detached from the caller's cancellation and limited
// in time, so that no caller can block the others. A unit may run a second time if another one rolled back the shared
// transaction. On Postgres a unit that waits too long for another server, or is a victim of a deadlock, runs again in a
// transaction of its own, beside the groups.
//
// An error of the COMMIT itself is an Unavailable fault: the outcome is unknown and the caller reads the data again.
//
// # Times
//
// This package cuts times to microseconds in UTC; no other package does. Columns are TEXT on SQLite, in the fixed-width
// form 2006-01-02T15:04:05.000000Z whose text order is the order in time, and timestamptz on Postgres. Plain time.Time
// values are written and read in this form on both engines, as fields of models and as query arguments; Time is the
// type for columns that may be NULL: its zero value is NULL.
//
// # Columns
//
// A member of a model that is a struct, a map or a slice is a column of JSON. Its raw members keep their characters,
// and its numbers without a declared type keep their text. An array of bytes is a column of bytes; a stored value of
// another length is read as zeros. Empty bytes with nullzero are NULL.
//
// # Leases
//
// Lease times are compared with Dialect().LeaseNow, never with the wall clock of a process: on Postgres that is the
// database's clock, on SQLite a clock that is anchored once and then follows the monotonic clock.
//
// # Migrations
//
// Migrate takes a file system with the folders sqlite and postgres, each with files NNNN_<context>_<what>.up.sql in
// goose's format: they begin with a line "-- +goose Up", and statements with inner semicolons (triggers, functions) are
// enclosed in "-- +goose StatementBegin" and "-- +goose StatementEnd". Each file runs in one transaction. A migration
// that is incompatible with older binaries contains this SQL:
//
//	UPDATE schema_floor SET min_binary = 12;
//
// where 12 is the number of the oldest migration that a binary must contain to use that schema. An older binary is
// refused; a newer schema without such a floor is accepted.
//
// # Errors
//
// Translate turns driver errors into faults; nothing of database/sql crosses a port.
package db
