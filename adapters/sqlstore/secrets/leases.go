package secrets

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/shelf"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// needed is how long an owner that is no run may need what was minted for it.
const needed = time.Hour

const selectLease = "SELECT l.id, l.owner_id, l.epoch, l.credential_id, l.engine, l.sealed, l.created_at, l.attempts FROM secret_leases AS l"

func scanLease(r db.Row) (l secrets.Lease, err error) {
	var created db.Time
	err = r.Scan(&l.ID, &l.Owner.ID, &l.Owner.Epoch, &l.CredentialID, &l.Engine, &l.Sealed, &created, &l.Attempts)
	l.CreatedAt = created.Time
	return l, err
}

// InsertLease implements secrets.LeaseStore. It was created now, by the store's clock; an id that exists is a Conflict fault.
func (s *Store) InsertLease(ctx context.Context, l secrets.Lease) error {
	err := s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		now, due := s.say.LeaseNow(), s.say.LeaseNow().Add(needed)
		run := strings.HasPrefix(l.Owner.ID, string(ids.Run))
		if run {
			due = now
		}
		_, err := db.Exec(ctx, q, "INSERT INTO secret_leases "+
			"(id, owner_id, epoch, of_run, credential_id, engine, sealed, created_at, due_at, attempts) VALUES ("+shelf.Marks(10)+")",
			l.ID, l.Owner.ID, l.Owner.Epoch, run, l.CredentialID, l.Engine, append([]byte{}, l.Sealed...), now, due, l.Attempts)
		return err
	})
	if err != nil {
		return fmt.Errorf("store a lease: %w", err)
	}
	return nil
}

// LeasesOf implements secrets.LeaseStore. They are by id.
func (s *Store) LeasesOf(ctx context.Context, o secrets.Owner) ([]secrets.Lease, error) {
	found, err := db.All(ctx, s.d.Read(ctx), scanLease, selectLease+" WHERE l.owner_id = ? AND l.epoch = ? ORDER BY l.id", o.ID, o.Epoch)
	if err != nil {
		return nil, fmt.Errorf("read the leases of an owner: %w", err)
	}
	return found, nil
}

// TakeLeases implements secrets.LeaseStore. Those come first that were due first. Each counts an attempt, with which it is returned.
// A lease that another unit holds is passed over.
func (s *Store) TakeLeases(ctx context.Context, limit int, hold time.Duration) (taken []secrets.Lease, err error) {
	err = s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		// The time is read first and then compared as a value, so that an index finds what is due.
		now, _, err := db.One(ctx, q, func(r db.Row) (at db.Time, err error) { return at, r.Scan(&at) }, "SELECT ? AS at", s.say.LeaseNow())
		if err != nil {
			return err
		}
		live, states := living()
		taken, err = db.All(ctx, q, scanLease, selectLease+" WHERE l.due_at <= ? AND NOT (l.of_run AND EXISTS "+
			"(SELECT 1 FROM runs AS r WHERE r.id = l.owner_id AND r.epoch = l.epoch AND r.status IN ("+live+"))) "+
			"ORDER BY l.due_at, l.id LIMIT ?"+s.say.ForUpdateSkipLocked(), append(append([]any{now}, states...), max(limit, 0))...)
		if err != nil || len(taken) == 0 {
			return err
		}
		args := []any{s.say.LeaseNow().Add(hold)}
		for i := range taken {
			taken[i].Attempts++
			args = append(args, taken[i].ID)
		}
		_, err = db.Exec(ctx, q, "UPDATE secret_leases SET due_at = ?, attempts = attempts + 1 WHERE id IN ("+shelf.Marks(len(taken))+")", args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("take leases: %w", err)
	}
	return taken, nil
}

// living are the states of runs that have not ended, with their places in a query.
func living() (places string, states []any) {
	for _, status := range runs.Statuses() {
		if !status.Terminal() {
			states = append(states, string(status))
		}
	}
	return shelf.Marks(len(states)), states
}

// DropLease implements secrets.LeaseStore.
func (s *Store) DropLease(ctx context.Context, id string) error {
	err := s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		_, err := db.Exec(ctx, q, "DELETE FROM secret_leases WHERE id = ?", id)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget a lease: %w", err)
	}
	return nil
}
