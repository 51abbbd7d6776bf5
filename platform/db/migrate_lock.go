package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sys/unix"
)

// migrationKey is the advisory lock of a migrating process. It is scoped to its database.
const migrationKey = 0x77726974

// migrationLock waits until no other process migrates, and returns a pool for the migration.
func (d *DB) migrationLock(ctx context.Context) (*sql.DB, func() error, error) {
	if d.engine == Postgres {
		return d.lockPostgres(ctx)
	}
	return d.lockSQLite(ctx)
}

// lockPostgres returns a pool of one session, which takes an advisory lock before anything else. The session that
// migrates holds the lock itself, because the server may be executing a statement of a process that died already.
func (d *DB) lockPostgres(ctx context.Context) (*sql.DB, func() error, error) {
	cfg := d.postgres.Copy()
	delete(cfg.RuntimeParams, "idle_in_transaction_session_timeout")
	pool := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrationKey))
		return err
	}))
	pool.SetMaxOpenConns(1)
	if err := pool.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("wait for the lock on migrations: %w", err), pool.Close())
	}
	return pool, pool.Close, nil
}

// lockSQLite locks a file next to the database; the kernel releases the lock when the process dies.
func (d *DB) lockSQLite(ctx context.Context) (*sql.DB, func() error, error) {
	path, err := filepath.Abs(d.cfg.URL)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, unopened(err)
	}
	if err := flock(ctx, f); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("wait for the lock on migrations: %w", err), f.Close())
	}
	db, err := openSQLitePool(ctx, d.sqliteDSN(path, true), 1)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	// Migrations wait for the disk once, in the next commit of a writer, which syncs all before it in the log. A crash
	// before that leaves an older schema, and the next start migrates again.
	if _, err := db.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
		return nil, nil, errors.Join(err, db.Close(), f.Close())
	}
	return db.DB, func() error { return errors.Join(db.Close(), f.Close()) }, nil
}

func flock(ctx context.Context, f *os.File) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hasVersions reports whether migrations were ever applied.
func (d *DB) hasVersions(ctx context.Context, pool *sql.DB) (bool, error) {
	query := "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '" + versionTable + "'"
	if d.engine == Postgres {
		query = "SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('" + versionTable + "')"
	}
	var n int
	err := pool.QueryRowContext(ctx, query).Scan(&n)
	return n > 0, err
}
