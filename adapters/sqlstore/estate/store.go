package estate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/pack"
	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
)

// namesPerStatement bounds one statement's list of names.
const namesPerStatement = 500

// Store implements the stores of ports/estate. It is safe for concurrent use.
type Store struct {
	d       *db.DB
	dialect db.Dialect
	codec   *pack.Codec
	scopes  *scopes.Scopes
	atOnce  int
}

// New makes a Store on a migrated database.
func New(d *db.DB) *Store {
	return &Store{d: d, dialect: d.Dialect(), codec: pack.New(), scopes: scopes.New(), atOnce: changesAtOnce}
}

type host struct {
	bun.BaseModel `bun:"table:estate_hosts,alias:h"`
	ID            int64 `bun:",pk,autoincrement"`
	Name          string
}

// run is what is kept of a run.
type run struct {
	bun.BaseModel `bun:"table:estate_runs,alias:r"`
	ID            int64 `bun:",pk,autoincrement"`
	RunID         string
	ScopeID       int64
	Name          string
	Status        string
	Tool          string
	Playbook      string
	TemplateID    string
	InventoryID   string
	DryRun        bool
	EndedAt       time.Time `bun:",nullzero"`
}

// scoped is the number of a run, with its scope.
type scoped struct{ id, scope int64 }

// clean drops NUL, which no engine stores in text.
func clean(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "") }

// hostIDs returns the numbers of hosts by their clean names, and gives new hosts one. The rows stay locked until the
// unit ends, in the order of their names, so that of two units with common hosts one waits and neither of both.
func (s *Store) hostIDs(ctx context.Context, q bun.IDB, names []string) (map[string]int64, error) {
	sorted := make([]string, len(names))
	for i, n := range names {
		sorted[i] = clean(n)
	}
	slices.Sort(sorted)
	ids := make(map[string]int64, len(sorted))
	for part := range slices.Chunk(slices.Compact(sorted), namesPerStatement) {
		rows := make([]host, len(part))
		for i, n := range part {
			rows[i].Name = n
		}
		// A change of nothing locks and returns the rows that exist.
		if _, err := db.Modify(ctx, q.NewInsert().Model(&rows).On("CONFLICT (name) DO UPDATE").Set("name = EXCLUDED.name").
			Returning("id, name")); err != nil {
			return nil, fmt.Errorf("number hosts: %w", err)
		}
		for _, r := range rows {
			ids[r.Name] = r.ID
		}
	}
	return ids, nil
}

// runID returns the number of a run with its scope, and stores it if it is new. Facts can come before the end of their
// run: a run that has ended replaces what was stored then.
func (s *Store) runID(ctx context.Context, q bun.IDB, r run, objects []string) (scoped, error) {
	scope, _, err := s.scopes.Of(ctx, q, objects)
	if err != nil {
		return scoped{}, err
	}
	r.ScopeID, r.Name, r.Playbook = scope, clean(r.Name), clean(r.Playbook)
	insert := q.NewInsert().Model(&r).On("CONFLICT (run_id) DO UPDATE").Returning("id, scope_id")
	if r.EndedAt.IsZero() {
		insert = insert.Set("run_id = EXCLUDED.run_id")
	} else {
		for _, c := range []string{"scope_id", "name", "status", "tool", "playbook", "template_id", "inventory_id",
			"dry_run", "ended_at"} {
			insert = insert.Set("? = EXCLUDED.?", bun.Ident(c), bun.Ident(c))
		}
	}
	if _, err := db.Modify(ctx, insert); err != nil {
		return scoped{}, fmt.Errorf("store run %s: %w", r.RunID, err)
	}
	return scoped{r.ID, r.ScopeID}, nil
}
