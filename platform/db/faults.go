package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/writ-automation/writ/ports/fault"
)

// The faults of the database itself.
var (
	// OutcomeUnknown means that a COMMIT was not answered: the change may or may not be stored.
	OutcomeUnknown = fault.Code{Name: "commit_outcome_unknown", Kind: fault.Unavailable}
	// SchemaTooNew means that the schema requires a newer binary.
	SchemaTooNew = fault.Code{Name: "schema_too_new", Kind: fault.Unavailable}
)

// errBadConnection is the message for all failures of the connection to the database.
const errBadConnection = "the database does not answer"

// Translate turns a driver's error into a fault: no rows is NotFound, a unique violation Conflict, and a database that
// is busy, full, broken or gone is Unavailable. Faults, errors of a context, errors of other origin and nil are
// returned unchanged. The driver's error is the cause of the fault.
func Translate(err error) error {
	var f *fault.Error
	switch {
	case err == nil, errors.As(err, &f):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return fault.Wrap(fault.NotFound, err, "no such record")
	case errors.Is(err, sql.ErrTxDone):
		return fault.Wrap(fault.Internal, err, "the unit of work is over")
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return translatePostgres(err, e)
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return translateSQLite(err, e.Code())
	}
	if isDisconnect(err) {
		return fault.Wrap(fault.Unavailable, err, errBadConnection)
	}
	return err
}

// IsUnique reports whether err comes from a unique index or primary key that already contains the value.
func IsUnique(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "23505"
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() {
		case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID:
			return true
		}
	}
	return false
}

// IsForeignKey reports whether err comes from a reference to a missing record, or from the deletion of a referenced
// one.
func IsForeignKey(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "23503"
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() == lib.SQLITE_CONSTRAINT_FOREIGNKEY
	}
	return false
}

// IsTransient reports whether err is a conflict with another transaction that a new attempt may not meet, or a plan
// that a change of the schema made useless.
func IsTransient(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01", "55P03", "26000":
			return true
		default:
			return e.Code == "0A000" && e.Routine == "RevalidateCachedQuery"
		}
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		primary := e.Code() & 0xff
		return primary == lib.SQLITE_BUSY || primary == lib.SQLITE_LOCKED
	}
	return false
}

func translatePostgres(err error, e *pgconn.PgError) error {
	switch {
	case e.Code == "23505":
		return fault.Wrap(fault.Conflict, err, "such a record exists")
	case e.Code == "23503":
		return fault.Wrap(fault.Conflict, err, "the record refers to one that does not exist, or is still referred to")
	case IsTransient(e):
		return fault.Wrap(fault.Unavailable, err, "the database is busy")
	case e.Code == "57014":
		return fault.Wrap(fault.Unavailable, err, "the database took too long")
	case e.Code == "53100":
		return fault.Wrap(fault.Unavailable, err, "the database's disk is full")
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "08", "57", "3D", "28":
		return fault.Wrap(fault.Unavailable, err, errBadConnection)
	case "53", "58", "25":
		return fault.Wrap(fault.Unavailable, err, "the database failed")
	}
	return fault.Wrap(fault.Internal, err, "the database refused a statement")
}

func translateSQLite(err error, code int) error {
	switch {
	case IsUnique(err):
		return fault.Wrap(fault.Conflict, err, "such a record exists")
	case IsForeignKey(err):
		return fault.Wrap(fault.Conflict, err, "the record refers to one that does not exist, or is still referred to")
	}
	switch code & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fault.Wrap(fault.Unavailable, err, "the database is busy")
	case lib.SQLITE_FULL:
		return fault.Wrap(fault.Unavailable, err, "the database's disk is full")
	case lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_NOMEM:
		return fault.Wrap(fault.Unavailable, err, "the database's disk cannot be read or written")
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fault.Wrap(fault.Unavailable, err, "the database's file is damaged")
	case lib.SQLITE_INTERRUPT:
		return fault.Wrap(fault.Unavailable, err, "the database took too long")
	}
	return fault.Wrap(fault.Internal, err, "the database refused a statement")
}

func isDisconnect(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE) || pgconn.SafeToRetry(err)
}
