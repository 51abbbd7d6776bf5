// Package execution keeps what executors report of themselves, and the capabilities of claims over a relay.
package execution

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
)

// Store implements the stores of ports/execution. It is safe for concurrent use.
type Store struct{ d *db.DB }

var (
	_ execution.WorkerStore = (*Store)(nil)
	_ execution.ClaimStore  = (*Store)(nil)
)

// New makes a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d} }

// ReportWorker implements execution.WorkerStore. Reports are timed by the clock of the leases.
func (s *Store) ReportWorker(ctx context.Context, w execution.Worker) error {
	queues, err := json.Marshal(w.Queues)
	if err != nil {
		return fmt.Errorf("report worker %s: %w", w.Name, err)
	}
	labels := []byte("{}")
	if len(w.Labels) > 0 {
		if labels, err = json.Marshal(w.Labels); err != nil {
			return fmt.Errorf("report worker %s: %w", w.Name, err)
		}
	}
	return s.exec(ctx, "INSERT INTO workers (name, kind, queues, executors, running, version, labels, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "+
		"ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, queues = excluded.queues, executors = excluded.executors, "+
		"running = excluded.running, version = excluded.version, labels = excluded.labels, seen_at = excluded.seen_at",
		w.Name, string(w.Kind), string(queues), w.Executors, w.Running, w.Version, string(labels), s.d.Dialect().LeaseNow())
}

// TouchWorker implements execution.WorkerStore.
func (s *Store) TouchWorker(ctx context.Context, name string, running int) error {
	return s.exec(ctx, "UPDATE workers SET running = ?, seen_at = ? WHERE name = ?", running, s.d.Dialect().LeaseNow(), name)
}

// RemoveWorker implements execution.WorkerStore.
func (s *Store) RemoveWorker(ctx context.Context, name string) error {
	return s.exec(ctx, "DELETE FROM workers WHERE name = ?", name)
}

// ForgetWorkers implements execution.WorkerStore.
func (s *Store) ForgetWorkers(ctx context.Context, since time.Duration) error {
	return s.exec(ctx, "DELETE FROM workers WHERE seen_at < ?", s.d.Dialect().LeaseNow().Add(-since))
}

func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, query, args...)
	return db.Translate(err)
}

// Workers implements execution.WorkerStore.
func (s *Store) Workers(ctx context.Context, w page.Window) ([]execution.Worker, int, error) {
	q := s.d.Read(ctx)
	var total int
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM workers").Scan(&total); err != nil {
		return nil, 0, db.Translate(err)
	}
	rows, err := q.QueryContext(ctx, "SELECT name, kind, queues, executors, running, version, labels, seen_at, seen_at > ? FROM workers "+
		"ORDER BY name LIMIT ? OFFSET ?", s.d.Dialect().LeaseNow().Add(-execution.WorkerTTL), w.Rows(), w.Offset)
	if err != nil {
		return nil, 0, db.Translate(fmt.Errorf("list workers: %w", err))
	}
	var out []execution.Worker
	for rows.Next() {
		var one execution.Worker
		if one, err = worker(rows); err != nil {
			break
		}
		out = append(out, one)
	}
	return out, total, db.Translate(errors.Join(err, rows.Err(), rows.Close()))
}

func worker(rows *sql.Rows) (execution.Worker, error) {
	var w execution.Worker
	var queues, labels string
	var seen db.Time
	if err := rows.Scan(&w.Name, &w.Kind, &queues, &w.Executors, &w.Running, &w.Version, &labels, &seen, &w.Fresh); err != nil {
		return w, err
	}
	w.SeenAt = seen.Time
	if err := json.Unmarshal([]byte(queues), &w.Queues); err != nil {
		return w, fmt.Errorf("the queues of worker %s: %w", w.Name, err)
	}
	if err := json.Unmarshal([]byte(labels), &w.Labels); err != nil {
		return w, fmt.Errorf("the labels of worker %s: %w", w.Name, err)
	}
	return w, nil
}
