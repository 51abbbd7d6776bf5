package db

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/uptrace/bun"
	_ "modernc.org/sqlite" // registers the driver

	"github.com/writ-automation/writ/ports/fault"
)

func (d *DB) openSQLite(ctx context.Context) error {
	path, err := filepath.Abs(d.cfg.URL)
	if err != nil {
		return fmt.Errorf("path of the database: %w", err)
	}
	// The file contains sealed secrets and hashes: no other user of the machine may read it.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return unopened(err)
	}
	if err := f.Close(); err != nil {
		return unopened(err)
	}
	w, err := startWriter(ctx, d, func(ctx context.Context) (*bun.DB, error) {
		return openSQLitePool(ctx, d.sqliteDSN(path, true), 1)
	})
	if err != nil {
		return err
	}
	d.runner = w
	d.closers = append(d.closers, w.close)
	reads, err := openSQLitePool(ctx, d.sqliteDSN(path, false), d.cfg.MaxConns)
	if err != nil {
		return err
	}
	d.reads = newPool(reads, newStatements(SQLite))
	d.closers = append(d.closers, d.reads.Close)
	d.signals = &Signals{hub: newHub(), foreign: newForeign(d, path, w)}
	d.closers = append(d.closers, d.signals.foreign.close)
	return nil
}

func (d *DB) sqliteDSN(path string, write bool) string {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", d.cfg.BusyTimeout.Milliseconds()),
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)", "journal_size_limit(67108864)",
	}}
	if write {
		q.Set("_txlock", "immediate")
		q.Add("_pragma", "secure_delete(1)") // overwrite erased data
	} else {
		q.Add("_pragma", "query_only(1)")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

func openSQLitePool(ctx context.Context, dsn string, conns int) (*bun.DB, error) {
	pool, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	db := bun.NewDB(pool, newSQLiteDialect())
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

func unopened(err error) error {
	return fault.Wrap(fault.Unavailable, err, "the database's file cannot be opened")
}
