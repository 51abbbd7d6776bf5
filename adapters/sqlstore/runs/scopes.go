package runs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// A scope is a set of objects, stored once for all runs that name the same ones. Most runs name only the default
// queue; their scope is NULL and has no row.

// scopeGeneration is how many scopes are cached in each of two generations.
const scopeGeneration = 4096

// defaultObject is the object of a run without a scope.
var defaultObject = access.Queue(runs.DefaultQueue)

// scopes caches scopes, which never change after their commit. A full generation replaces the older one.
type scopes struct {
	mu         sync.Mutex
	young, old scopeMaps
}

type scopeMaps struct {
	objects map[int64][]string
	ids     map[string]int64 // by digest
}

func newScopeMaps() scopeMaps {
	return scopeMaps{objects: make(map[int64][]string), ids: make(map[string]int64)}
}

func newScopes() *scopes { return &scopes{young: newScopeMaps()} }

func (k *scopes) id(digest string) (int64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id, ok := k.young.ids[digest]; ok {
		return id, true
	}
	id, ok := k.old.ids[digest]
	if ok {
		k.store(id, digest, k.old.objects[id])
	}
	return id, ok
}

// objects returns a scope's objects, or nil if they are not cached. The list is shared and must not be changed.
func (k *scopes) objects(id int64) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if list := k.young.objects[id]; list != nil {
		return list
	}
	list := k.old.objects[id]
	if list != nil {
		k.store(id, digestOf(list), list)
	}
	return list
}

func (k *scopes) put(id int64, digest string, objects []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.store(id, digest, objects)
}

func (k *scopes) store(id int64, digest string, objects []string) {
	if len(k.young.objects) >= scopeGeneration {
		k.old, k.young = k.young, newScopeMaps()
	}
	k.young.objects[id], k.young.ids[digest] = objects, id
}

// normal returns the objects sorted, each once, without changing the list.
func normal(objects []string) []string {
	for i := 1; i < len(objects); i++ {
		if objects[i-1] >= objects[i] {
			return slices.Compact(slices.Sorted(slices.Values(objects)))
		}
	}
	return objects
}

// digestOf returns the digest of a set of objects: the object itself, or a hash of several.
func digestOf(objects []string) string {
	if len(objects) == 1 {
		return objects[0]
	}
	sum := sha256.Sum256([]byte(strings.Join(objects, "\x00")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// scopeOf returns the scope of a new run, NULL if it needs none. It changes the run's objects to their stored form. A
// run without objects gets those that its record names.
func (s *Store) scopeOf(ctx context.Context, q bun.IDB, r *runs.Run) (number, error) {
	if len(r.Objects) == 0 {
		r.Objects = runs.ObjectsOf(r)
	}
	r.Objects = normal(r.Objects)
	if len(r.Objects) == 1 && r.Objects[0] == defaultObject {
		return number{}, nil
	}
	digest := digestOf(r.Objects)
	if id, ok := s.scopes.id(digest); ok {
		return number{id, true}, nil
	}
	id, err := s.intern(ctx, q, digest, r.Objects)
	if err != nil {
		return number{}, fmt.Errorf("store the objects of run %s: %w", r.ID, err)
	}
	// The scope is cached after the commit, since a rollback removes it.
	objects := slices.Clone(r.Objects)
	tx.OnCommit(ctx, func() { s.scopes.put(id, digest, objects) })
	return number{id, true}, nil
}

// scope is a set of objects, whose members are scopeObjects.
type scope struct {
	bun.BaseModel `bun:"table:run_scopes,alias:s"`
	ID            int64 `bun:",pk,autoincrement"`
	Digest        string
}

type scopeObject struct {
	bun.BaseModel `bun:"table:run_scope_objects,alias:so"`
	ScopeID       int64
	Object        string
}

// intern finds or inserts the scope. If several units insert the same one, the others wait for the first.
func (s *Store) intern(ctx context.Context, q bun.IDB, digest string, objects []string) (int64, error) {
	row := scope{Digest: digest}
	find := q.NewSelect().Model(&row).Where("s.digest = ?", digest)
	if ok, err := db.First(ctx, find); err != nil || ok {
		return row.ID, err
	}
	n, err := db.Modify(ctx, q.NewInsert().Model(&row).On("CONFLICT (digest) DO NOTHING").Returning("id"))
	if err != nil {
		return 0, err
	}
	if n == 0 {
		_, err := db.First(ctx, find)
		return row.ID, err
	}
	rows := make([]scopeObject, len(objects))
	for i, o := range objects {
		rows[i] = scopeObject{ScopeID: row.ID, Object: o}
	}
	return row.ID, upsert(ctx, q, rows, func(q *bun.InsertQuery) *bun.InsertQuery { return q })
}

func (s *Store) Objects(ctx context.Context, id string) ([]string, error) {
	q := s.d.Read(ctx)
	var w row
	ok, err := db.First(ctx, q.NewSelect().Model(&w).Column("scope_id").Where("id = ?", id))
	if err != nil {
		return nil, fmt.Errorf("read the objects of run %s: %w", id, err)
	}
	if !ok {
		return nil, notFound(id)
	}
	return s.objectsOf(ctx, q, w.ScopeID)
}

func (s *Store) Unfinished(ctx context.Context, object string, limit int) (list []string, total int, err error) {
	q := s.d.Read(ctx)
	if strings.HasPrefix(object, string(ids.Credential)) {
		return needing(ctx, q, object, limit)
	}
	of := q.NewSelect().Model((*scopeObject)(nil)).Column("scope_id").Where("so.object = ?", object)
	live := q.NewSelect().TableExpr("runs AS r").Column("r.id").
		Where("r.parent_id IS NULL AND r.status IN ('pending_approval', 'pending', 'running') AND r.scope_id IN (?)", of)
	if total, err = db.Total(ctx, live); err != nil || total == 0 {
		return nil, 0, err
	}
	if err := live.OrderExpr("r.created_at, r.seq").Apply(db.AtMost(limit)).Scan(ctx, &list); err != nil {
		return nil, 0, db.Wrap(err, "look for runs that name an object")
	}
	return list, total, nil
}

// objectsOf returns the objects of a scope, which the caller may keep.
func (s *Store) objectsOf(ctx context.Context, q bun.IDB, scope number) ([]string, error) {
	if !scope.valid {
		return []string{defaultObject}, nil
	}
	if list := s.scopes.objects(scope.n); list != nil {
		return slices.Clone(list), nil
	}
	var list []string
	if err := q.NewSelect().Model((*scopeObject)(nil)).Column("object").Where("so.scope_id = ?", scope.n).
		Scan(ctx, &list); err != nil {
		return nil, db.Wrap(err, "read the objects of a run")
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the scope %d of a run has no objects", scope.n)
	}
	slices.Sort(list)
	keep := slices.Clone(list)
	tx.OnCommit(ctx, func() { s.scopes.put(scope.n, digestOf(keep), keep) })
	return list, nil
}
