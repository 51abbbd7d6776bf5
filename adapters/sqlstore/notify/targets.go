package notify

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secrets"
)

func text(r db.Row) (s string, err error) { return s, r.Scan(&s) }

// KeepTarget implements notify.TargetStore. Of units that keep equal targets at once the later ones wait for the first to end.
func (s *Store) KeepTarget(ctx context.Context, ref, digest string, sealed []byte) (string, error) {
	rules := ""
	err := s.together(ctx, func(ctx context.Context, q bun.IDB) error {
		was, ok, err := db.One(ctx, q, text, "SELECT ref FROM notify_targets WHERE digest = ?", digest)
		if err != nil || ok {
			rules = was
			return err
		}
		rules, _, err = db.One(ctx, q, text, "INSERT INTO notify_targets (ref, digest, sealed, created_at) VALUES (?, ?, ?, ?) "+
			"ON CONFLICT (digest) DO UPDATE SET digest = excluded.digest RETURNING ref", ref, digest, sealed, s.say.WallNow())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("keep a target: %w", err)
	}
	return rules, nil
}

// SealedTarget implements notify.TargetStore.
func (s *Store) SealedTarget(ctx context.Context, ref string) ([]byte, error) {
	sealed, ok, err := db.One(ctx, s.d.Read(ctx), func(r db.Row) (b []byte, err error) { return b, r.Scan(&b) },
		"SELECT sealed FROM notify_targets WHERE ref = ?", ref)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a target: %w", err)
	case !ok:
		return nil, notify.TargetNotFound.New("no notification target %q", ref)
	default:
		return sealed, nil
	}
}

// Holders returns what holds sealed texts: the targets.
func (s *Store) Holders() []secrets.Holder { return []secrets.Holder{holder{s}} }

type holder struct{ *Store }

var _ secrets.Holder = holder{}

// Holds implements secrets.Holder.
func (holder) Holds() string { return "notification targets" }

// ListSealed implements secrets.Holder.
func (h holder) ListSealed(ctx context.Context, after string, limit int) ([]secrets.Sealed, error) {
	list, err := db.All(ctx, h.d.Read(ctx), func(r db.Row) (x secrets.Sealed, err error) {
		err = r.Scan(&x.Key, &x.Text)
		x.Record = notify.TargetRecord(x.Key)
		return x, err
	}, "SELECT ref, sealed FROM notify_targets WHERE ref > ? ORDER BY ref LIMIT ?", after, limit)
	if err != nil {
		return nil, fmt.Errorf("read sealed targets: %w", err)
	}
	return list, nil
}

// Reseal implements secrets.Holder.
func (h holder) Reseal(ctx context.Context, was secrets.Sealed, now []byte) (bool, error) {
	var n int64
	err := h.together(ctx, func(ctx context.Context, q bun.IDB) (err error) {
		n, err = db.Exec(ctx, q, "UPDATE notify_targets SET sealed = ? WHERE ref = ? AND sealed = ?", now, was.Key, was.Text)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("seal a target anew: %w", err)
	}
	return n > 0, nil
}
