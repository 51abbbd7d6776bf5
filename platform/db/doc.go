// Package db is the database under every store: one API over SQLite and Postgres.
//
// # Units of work
//
// DB implements tx.Unit. Stores reach the open transaction through the context alone: Read(ctx) is the open unit's
// transaction or else the read pool, Write(ctx) is the open unit's transaction or an Internal fault. A nested Do
// joins the open unit, and an error of a nested Do dooms the whole unit even where its caller swallows it. A
// statement that fails dooms its unit as well, on both engines alike (Postgres would refuse the rest anyway), so
// expected conflicts are written with ON CONFLICT and not by trying. A context that outlives its unit is refused.
//
// On SQLite one writer commits in groups: units that wait run one after the other in savepoints of one transaction
// and share one COMMIT and its fsync. Each caller gets its own result. A unit runs on its caller's goroutine while
// the writer waits for it; its context is detached from the caller's cancellation and bounded in time, so that no
// caller can hold up the others. A unit may run a second time where another one voided the transaction that they
// shared, as after a serialization conflict on Postgres.
//
// An error of the COMMIT itself is an Unavailable fault: the outcome is unknown and the caller reloads.
//
// # Times
//
// Times are UTC, cut to microseconds, in this package alone. Columns are TEXT on SQLite, in the fixed-width form
// 2006-01-02T15:04:05.000000Z whose text order is the order in time, and timestamptz on Postgres. Plain time.Time
// values are written and read like that on both engines, as fields of models and as query arguments; Time is the type
// for columns that may be NULL: its zero value is NULL.
//
// # Columns
//
// A member of a model that is a struct, a map or a slice is a column of JSON, whose raw members keep their characters
// and whose numbers of no declared type stay as they were written. An array of bytes is a column of bytes; what is
// read of another length becomes zeros. Bytes with nullzero are NULL where there are none.
//
// # Leases
//
// Lease times are compared with Dialect().LeaseNow, never with the wall clock of a process: on Postgres that is the
// database's clock, on SQLite a clock that is anchored once and then follows the monotonic clock.
//
// # Migrations
//
// Migrate takes a file system with the folders sqlite and postgres, each with files NNNN_<context>_<what>.up.sql in
// goose's format: they begin with a line "-- +goose Up", and statements with inner semicolons (triggers, functions)
// stand between "-- +goose StatementBegin" and "-- +goose StatementEnd". Each file runs in one transaction. A
// migration that older binaries cannot live with says so in SQL:
//
//	UPDATE schema_floor SET min_binary = 12;
//
// where 12 is the oldest "newest migration" that a binary must know to work on that schema. A binary that knows less
// is refused; a schema that is merely newer is accepted.
//
// # Errors
//
// Translate makes faults of driver errors; nothing of database/sql crosses a port.
package db
