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
	// bun writes arguments into the text, so texts rarely repeat and preparing them is not worthwhile.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, 5*time.Second)
	for name, value := range postgresSettings {
		cfg.RuntimeParams[name] = value
	}
	d.postgres = cfg
	pool := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(scanUTC))
	pool.SetMaxOpenConns(d.cfg.MaxConns)
	pool.SetMaxIdleConns(d.cfg.MaxConns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	d.reads = newPool(bun.NewDB(pool, newPgDialect()), nil)
	d.closers = append(d.closers, d.reads.Close)
	d.renew = func() {
		pool.SetMaxIdleConns(0)
		pool.SetMaxIdleConns(d.cfg.MaxConns)
	}
	if err := pool.PingContext(ctx); err != nil {
		return fault.Wrap(fault.Unavailable, err, errBadConnection)
	}
	d.runner = &postgresRunner{owner: d, commit: func(tx bun.Tx) error { return tx.Commit() }}
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

// postgresRunner runs each unit in a transaction of its own.
type postgresRunner struct {
	owner  *DB
	commit func(bun.Tx) error // a field so that tests can make it fail
}

var _ runner = (*postgresRunner)(nil)

func (r *postgresRunner) attempt(ctx context.Context, fn func(context.Context) error, _ bool) outcome {
	if err := ctx.Err(); err != nil {
		return outcome{err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, r.owner.cfg.UnitTimeout)
	defer cancel()
	// The end of the caller's context ends the wait for a connection and fails the unit's statements, but the runner
	// waits for a COMMIT that has begun, since database/sql would otherwise report a rollback that may not have
	// happened.
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	release := context.AfterFunc(ctx, kill)
	tx, err := r.owner.reads.BeginTx(life, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	release()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return outcome{err: fmt.Errorf("begin: %w", err), again: IsTransient(err)}
	}
	u := &unit{owner: r.owner}
	u.begin(tx, nil)
	if err := r.call(ctx, u, fn); err != nil {
		_ = tx.Rollback()
		r.owner.stats.failed.Add(1)
		return outcome{err: err, again: IsTransient(err) || IsTransient(u.failed())}
	}
	limit := time.AfterFunc(r.owner.cfg.CommitTimeout, kill)
	defer limit.Stop()
	return r.end(tx)
}

// call runs the function. If the function panics or ends its goroutine, call rolls the transaction back.
func (r *postgresRunner) call(ctx context.Context, u *unit, fn func(context.Context) error) (err error) {
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
	err = fn(context.WithValue(ctx, unitKey{r.owner}, u))
	returned = true
	return err
}

func (r *postgresRunner) end(tx bun.Tx) outcome {
	err := r.commit(tx)
	switch {
	case err == nil:
		r.owner.stats.commits.Add(1)
		r.owner.stats.units.Add(1)
		return outcome{}
	case IsTransient(err):
		r.owner.stats.failed.Add(1)
		return outcome{err: err, again: true}
	case errors.Is(err, pgx.ErrTxCommitRollback):
		r.owner.stats.failed.Add(1)
		return outcome{err: fault.Wrap(fault.Internal, err, "a statement of the unit of work failed unnoticed")}
	}
	r.owner.stats.commitErrors.Add(1)
	r.owner.log.Error("commit", "error", err)
	return outcome{err: OutcomeUnknown.New("the database did not confirm the change; it may have been made or not").
		Because(err)}
}
