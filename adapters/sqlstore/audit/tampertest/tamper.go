// Package tampertest alters a stored audit trail like an attacker with access to the database.
package tampertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/audit/audittest"
)

// Tamperer implements audittest.Tamperer on the tables of adapters/sqlstore/audit.
type Tamperer struct{ d *db.DB }

var _ audittest.Tamperer = (*Tamperer)(nil)

// New returns a Tamperer on a migrated database.
func New(d *db.DB) *Tamperer { return &Tamperer{d: d} }

// both lists the tables with entry numbers.
func both() []string { return []string{"audit_entries", "audit_private"} }

func (t *Tamperer) do(ctx context.Context, fn func(ctx context.Context, q bun.IDB) error) error {
	return t.d.Do(ctx, func(ctx context.Context) error {
		q, err := t.d.Write(ctx)
		if err != nil {
			return err
		}
		return fn(ctx, q)
	})
}

func exec(ctx context.Context, q bun.IDB, query string, args ...any) error {
	_, err := q.ExecContext(ctx, query, args...)
	return err
}

// change runs a statement that must change one row.
func change(ctx context.Context, q bun.IDB, query string, args ...any) error {
	res, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%d rows were changed: %w", n, err)
	}
	return nil
}

func (t *Tamperer) EditLeaf(ctx context.Context, seq int64, edit func(leaf string) string) error {
	return t.do(ctx, func(ctx context.Context, q bun.IDB) error {
		var leaf string
		if err := q.QueryRowContext(ctx, "SELECT leaf FROM audit_entries WHERE seq = ?", seq).Scan(&leaf); err != nil {
			return err
		}
		return change(ctx, q, "UPDATE audit_entries SET leaf = ? WHERE seq = ?", edit(leaf), seq)
	})
}

func (t *Tamperer) EditHash(ctx context.Context, seq int64, edit func(hash [32]byte) [32]byte) error {
	return t.do(ctx, func(ctx context.Context, q bun.IDB) error {
		hash, err := hashOf(ctx, q, seq)
		if err != nil {
			return err
		}
		hash = edit(hash)
		return change(ctx, q, "UPDATE audit_entries SET hash = ? WHERE seq = ?", hash[:], seq)
	})
}

func hashOf(ctx context.Context, q bun.IDB, seq int64) (hash [32]byte, err error) {
	var raw []byte
	err = q.QueryRowContext(ctx, "SELECT hash FROM audit_entries WHERE seq = ?", seq).Scan(&raw)
	copy(hash[:], raw)
	return hash, err
}

func (t *Tamperer) EditColumn(ctx context.Context, seq int64, column, value string) error {
	if !slices.Contains([]string{"id", "at", "action", "actor", "object", "run"}, column) {
		return fmt.Errorf("%q repeats nothing of the leaf", column)
	}
	return t.do(ctx, func(ctx context.Context, q bun.IDB) error {
		return change(ctx, q, "UPDATE audit_entries SET "+column+" = ? WHERE seq = ?", value, seq)
	})
}

func (t *Tamperer) EditPrivate(ctx context.Context, seq int64, disclosures []string, detail string) error {
	return t.do(ctx, func(ctx context.Context, q bun.IDB) error { return putPrivate(ctx, q, seq, disclosures, detail) })
}

func putPrivate(ctx context.Context, q bun.IDB, seq int64, disclosures []string, detail string) error {
	list := ""
	if len(disclosures) > 0 {
		raw, err := json.Marshal(disclosures)
		if err != nil {
			return err
		}
		list = string(raw)
	}
	return change(ctx, q, "INSERT INTO audit_private (seq, disclosures, detail) VALUES (?, ?, ?) "+
		"ON CONFLICT (seq) DO UPDATE SET disclosures = excluded.disclosures, detail = excluded.detail", seq, list, detail)
}

func (t *Tamperer) Delete(ctx context.Context, seq int64) error {
	return t.do(ctx, func(ctx context.Context, q bun.IDB) error {
		if err := change(ctx, q, "DELETE FROM audit_entries WHERE seq = ?", seq); err != nil {
			return err
		}
		return exec(ctx, q, "DELETE FROM audit_private WHERE seq = ?", seq)
	})
}

func (t *Tamperer) Swap(ctx context.Context, a, b int64) error {
	return t.do(ctx, func(ctx context.Context, q bun.IDB) error {
		for _, seq := range []int64{a, b} {
			if _, err := hashOf(ctx, q, seq); err != nil {
				return err
			}
		}
		for _, table := range both() {
			for _, move := range [][2]int64{{a, -1}, {b, a}, {-1, b}} {
				if err := exec(ctx, q, "UPDATE "+table+" SET seq = ? WHERE seq = ?", move[1], move[0]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (t *Tamperer) CutAfter(ctx context.Context, seq int64) error {
	return t.do(ctx, func(ctx context.Context, q bun.IDB) error {
		var hash [32]byte
		if seq > 0 {
			var err error
			if hash, err = hashOf(ctx, q, seq); err != nil {
				return err
			}
		}
		for _, table := range both() {
			if err := exec(ctx, q, "DELETE FROM "+table+" WHERE seq > ?", seq); err != nil {
				return err
			}
		}
		return change(ctx, q, "UPDATE audit_head SET size = ?, hash = ? WHERE id = 1", seq, hash[:])
	})
}

func (t *Tamperer) Insert(ctx context.Context, e audit.Stored) error {
	return t.do(ctx, func(ctx context.Context, q bun.IDB) error {
		for _, table := range both() {
			// Negative numbers avoid collisions during the move.
			if err := exec(ctx, q, "UPDATE "+table+" SET seq = -(seq + 1) WHERE seq >= ?", e.Seq); err != nil {
				return err
			}
			if err := exec(ctx, q, "UPDATE "+table+" SET seq = -seq WHERE seq < 0"); err != nil {
				return err
			}
		}
		if err := exec(ctx, q,
			"INSERT INTO audit_entries (seq, leaf, hash, id, at, action, actor, object, run) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			e.Seq, e.Leaf, e.Hash[:], e.ID, e.At, e.Action, e.Actor, e.Object, e.Run); err != nil {
			return err
		}
		if len(e.Disclosures) > 0 || e.Detail != "" {
			if err := putPrivate(ctx, q, e.Seq, e.Disclosures, e.Detail); err != nil {
				return err
			}
		}
		// The tip is the last remaining entry.
		return change(ctx, q, "UPDATE audit_head SET size = (SELECT max(seq) FROM audit_entries), "+
			"hash = (SELECT e.hash FROM audit_entries AS e ORDER BY e.seq DESC LIMIT 1) WHERE id = 1")
	})
}
