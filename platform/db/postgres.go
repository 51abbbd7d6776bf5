package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
)

// postgresSettings are the settings that bun's SQL and its scanning need, whatever the server's defaults are.
var postgresSettings = map[string]string{
	"application_name":                    "writ",
	"timezone":                            "UTC",
	"standard_conforming_strings":         "on",
	"idle_in_transaction_session_timeout": "15s",
}

func (d *DB) openPostgres(ctx context.Context) error {
	cfg, err := pgx.ParseConfig(d.cfg.URL)
	if err != nil {
		// The error's own text may hold the password.
		return &fault.Error{Kind: fault.Invalid, Message: "the URL of the database cannot be read"}
	}
	// bun writes arguments into the texts that it builds, so that they rarely repeat. Those that do are chosen by name.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.StatementCacheCapacity = plannedPerConn
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, 5*time.Second)
	for name, value := range postgresSettings {
		cfg.RuntimeParams[name] = value
	}
	d.postgres = cfg
	pool := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(scanUTC))
	pool.SetMaxOpenConns(d.cfg.MaxConns)
	pool.SetMaxIdleConns(d.cfg.MaxConns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	d.planned = newStatements(Postgres)
	d.reads = newPool(bun.NewDB(pool, newPgDialect()), d.planned)
	d.closers = append(d.closers, d.reads.Close)
	if err := pool.PingContext(ctx); err != nil {
		return fault.Wrap(fault.Unavailable, err, errBadConnection)
	}
	w, err := startWriter(ctx, d, func(context.Context) (*bun.DB, error) { return openGroups(cfg), nil })
	if err != nil {
		return err
	}
	d.renew = func() {
		pool.SetMaxIdleConns(0)
		pool.SetMaxIdleConns(d.cfg.MaxConns)
		w.renew.Store(true)
	}
	d.closers = append(d.closers, w.close)
	d.runner = &postgresRunner{owner: d, groups: w, commit: func(tx bun.Tx) error { return tx.Commit() }}
	d.signals = &Signals{hub: newHub(), remote: newListener(d, cfg)}
	d.closers = append(d.closers, d.signals.remote.close)
	return nil
}

// scanUTC makes the driver return times in UTC instead of the zone of this machine.
func scanUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}

// groupLockTimeout is how long a unit in a group waits for a lock of another server. Then it runs again by itself,
// beside the groups, so that the others do not wait with it.
const groupLockTimeout = "250ms"

// openGroups returns a pool of the one connection on which groups run.
func openGroups(cfg *pgx.ConnConfig) *bun.DB {
	cfg = cfg.Copy()
	cfg.RuntimeParams["lock_timeout"] = groupLockTimeout
	pool := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(scanUTC))
	pool.SetMaxOpenConns(1)
	pool.SetMaxIdleConns(1)
	return bun.NewDB(pool, newPgDialect())
}

// postgresRunner runs units in groups, and each unit that met a conflict in a transaction of its own.
type postgresRunner struct {
	owner  *DB
	groups *writer
	commit func(bun.Tx) error // a field so that tests can make it fail
}

var _ runner = (*postgresRunner)(nil)

func (r *postgresRunner) attempt(ctx context.Context, fn func(context.Context) error, hooks *tx.Hooks,
	alone bool) outcome {
	if !alone {
		return r.groups.attempt(ctx, fn, hooks, false)
	}
	if err := ctx.Err(); err != nil {
		return outcome{err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, tx.Limit(ctx, r.owner.cfg.UnitTimeout))
	defer cancel()
	// The end of the caller's context ends the wait for a connection and fails the unit's statements, but the runner
	// waits for a COMMIT that has begun, since database/sql would otherwise report a rollback that may not have
	// happened.
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	release := context.AfterFunc(ctx, kill)
	begun, conn, err := r.owner.beginOn(life, r.owner.reads.DB, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	release()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return outcome{err: fmt.Errorf("begin: %w", err), again: IsTransient(err)}
	}
	defer func() {
		kill()
		_ = conn.Close() // the pool has it, or it is gone
	}()
	u := &unit{owner: r.owner}
	u.begin(begun, conn, r.owner.planned)
	if err := r.call(ctx, u, fn, hooks); err != nil {
		_ = begun.Rollback()
		r.owner.stats.failed.Add(1)
		return outcome{err: err, again: IsTransient(err) || IsTransient(u.failed())}
	}
	limit := time.AfterFunc(r.owner.cfg.CommitTimeout, kill)
	defer limit.Stop()
	out := r.owner.outcomeOf(r.commit(begun), 1)
	switch {
	case out.err == nil:
		r.owner.stats.group(1)
	case out.again:
		r.owner.stats.failed.Add(1)
	}
	return out
}

// call runs the function. If the function panics or ends its goroutine, call rolls the transaction back.
func (r *postgresRunner) call(ctx context.Context, u *unit, fn func(context.Context) error,
	hooks *tx.Hooks) (err error) {
	returned := false
	defer func() {
		failure := u.end()
		switch {
		case !returned:
			_ = u.tx.Rollback()
			r.owner.stats.failed.Add(1)
		case err == nil && failure != nil:
			err = failure
		case err == nil:
			err = ctx.Err()
		}
	}()
	ctx = context.WithValue(ctx, unitKey{r.owner}, u)
	if err = fn(ctx); err == nil {
		err = hooks.Finish(ctx)
	}
	returned = true
	return err
}

// outcomeOf returns what a COMMIT of so many units means for each of them. It counts and reports errors.
func (d *DB) outcomeOf(err error, units int) outcome {
	if err == nil {
		return outcome{}
	}
	if d.engine == Postgres {
		unnoticed := errors.Is(err, pgx.ErrTxCommitRollback)
		switch {
		case unnoticed && units == 1:
			d.stats.failed.Add(1)
			return outcome{err: fault.Wrap(fault.Internal, err, "a statement of the unit of work failed unnoticed")}
		case unnoticed, IsTransient(err):
			return outcome{err: err, again: true, alone: true}
		}
	}
	d.stats.commitErrors.Add(1)
	d.log.Error("commit", "units", units, "error", err)
	return outcome{err: OutcomeUnknown.New("the database did not confirm the change; it may have been made or not").
		Because(err)}
}
