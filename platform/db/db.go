package db

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/writ-automation/writ/ports/fault"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	engine  Engine
	cfg     Config
	log     *slog.Logger
	reads   *pool // reads outside of units; on Postgres the only pool
	runner  runner
	refused refusals
	lease   *leaseClock
	signals *Signals
	// postgres is how to connect, for the connections that do not come from the pool. It is nil on SQLite.
	postgres *pgx.ConnConfig
	planned  *statements // of every connection to Postgres; nil on SQLite
	// renew closes the idle connections of the pool on Postgres, so that the next statements get new ones.
	renew func()
	stats counters

	closing sync.Once
	closers []func() error
	failure error
}

// Open connects to the database that cfg names and creates a missing SQLite file. It does not migrate. A database that
// cannot be reached or opened is an Unavailable fault, a Config without a database an Invalid one.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	d := &DB{engine: cfg.engine(), cfg: cfg, log: cfg.Log, refused: newRefusals(), lease: newLeaseClock()}
	d.closers = append(d.closers, d.refused.db.Close)
	open := d.openSQLite
	if d.engine == Postgres {
		open = d.openPostgres
	}
	if err := open(ctx); err != nil {
		return nil, errors.Join(Translate(err), d.Close())
	}
	return d, nil
}

// Close waits for the running units, stops every goroutine of the database and closes its connections.
func (d *DB) Close() error {
	d.closing.Do(func() {
		var errs []error
		for i := len(d.closers) - 1; i >= 0; i-- {
			errs = append(errs, d.closers[i]())
		}
		d.failure = errors.Join(errs...)
	})
	return d.failure
}

// Engine returns which engine this is.
func (d *DB) Engine() Engine { return d.engine }

// Signals returns the wake-ups of this database.
func (d *DB) Signals() *Signals { return d.signals }

// Probe reads one row of a table. It returns an Unavailable fault if that fails, including for a schema that was
// never migrated.
func (d *DB) Probe(ctx context.Context) error {
	var version int64
	err := d.reads.QueryRowContext(ctx, "SELECT min_binary FROM "+floorTable).Scan(&version)
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return fault.Wrap(fault.Unavailable, err, "the database has no schema")
	}
	if err = Translate(err); fault.KindOf(err) == fault.Unavailable {
		return err
	}
	return fault.Wrap(fault.Unavailable, err, "the database cannot be read")
}
