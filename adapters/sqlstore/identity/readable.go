package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

const (
	// maxBranches bounds how many branches of one sort a statement has. Beyond it one branch looks for all of them.
	maxBranches = 100
	// deep is from where on a page reads its branches to their ends: to sort their beginnings takes longer then.
	deep = 5000
	// lookup is how many steps through an index take as long as to look for one object.
	lookup = 8
)

// branch is a part of what a scope may read: a SELECT of ids, each once, that an index yields in their order. So a
// page needs no more of each branch than its own end, and to count a branch is to read a stretch of an index.
type branch struct {
	text string
	args []any
}

// readable are the branches of what a scope may read of one kind. What carries a grant is restricted, so free and
// granted have nothing in common; an organization's may be granted too.
type readable struct {
	free    []branch // what is not restricted
	granted []branch // what carries a grant to a subject of the scope; two of them may have objects in common
	own     []branch // what else belongs to an organization of the scope
	orgs    []string
}

// Readable finds what visible.Where lets through.
func (s *Store) Readable(ctx context.Context, kind string, sc access.Scope, w page.Window) ([]string, int, error) {
	q, offset := s.d.Read(ctx), max(w.Offset, 0)
	parts := narrowed(kind, sc)
	branches := append(append(append([]branch(nil), parts.free...), parts.granted...), parts.own...)
	if len(branches) == 0 {
		return nil, 0, nil
	}
	limit := offset + w.Rows()
	if limit > deep {
		limit = 0
	}
	query, args := unionOf(branches, limit)
	found, err := db.Query[string](ctx, q, query+" ORDER BY id LIMIT ? OFFSET ?", append(args, w.Rows(), offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list readable objects: %w", err)
	}
	if len(found) < w.Rows() && (len(found) > 0 || offset == 0) {
		return found, offset + len(found), nil
	}
	free, err := parts.sum(ctx, q, parts.free)
	if err != nil {
		return nil, 0, fmt.Errorf("count readable objects: %w", err)
	}
	_, none := s.d.Write(ctx)
	n, err := s.totals.of(ctx, q, none == nil, kind, sc, func() (int, error) { return parts.restricted(ctx, q) })
	return found, free + n, db.Wrap(err, "count readable objects")
}

func narrowed(kind string, sc access.Scope) readable {
	objects := func(restricted bool) branch {
		return branch{"SELECT ao.id FROM access_objects AS ao WHERE ao.kind = ? AND ao.gone = FALSE AND ao.restricted = ?", []any{kind, restricted}}
	}
	if sc.All {
		return readable{free: []branch{objects(false), objects(true)}}
	}
	r := readable{orgs: once(sc.Orgs)}
	from, to := between(kind)
	for _, subjects := range each(once(sc.Subjects)) {
		r.granted = append(r.granted, branch{"SELECT DISTINCT ag.object AS id FROM grants AS ag WHERE ag.object >= ? AND ag.object < ? " +
			"AND ag.hidden = FALSE AND ag.subject" + in(subjects), with([]any{from, to}, subjects)})
	}
	states := []bool{true}
	if sc.Strict {
		states = append(states, false)
	} else {
		r.free = []branch{objects(false)}
	}
	for _, restricted := range states {
		for _, orgs := range each(r.orgs) {
			o := objects(restricted)
			r.own = append(r.own, branch{o.text + " AND ao.org_id" + in(orgs), with(o.args, orgs)})
		}
	}
	return r
}

// between bounds the names of a kind's objects.
func between(kind string) (from, to string) {
	switch kind {
	case identity.KindProject:
		from = string(ids.Project)
	case identity.KindTemplate:
		from = string(ids.Template)
	case identity.KindInventory:
		from = string(ids.Inventory)
	case identity.KindCredential:
		from = string(ids.Credential)
	case identity.KindQueue:
		from = access.Queue("")
	default:
		return "", ""
	}
	last := len(from) - 1
	return from, from[:last] + string(rune(from[last]+1))
}

// restricted counts what the branches hold beside what is free, each object once. It changes with the version of
// rights alone.
func (r readable) restricted(ctx context.Context, q bun.IDB) (int, error) {
	own, err := r.sum(ctx, q, r.own)
	if err != nil || len(r.granted) == 0 {
		return own, err
	}
	query, args := unionOf(r.granted, 0)
	granted, err := db.Count(ctx, q, "SELECT count(*) FROM ("+query+") AS found", args...)
	if err != nil || own == 0 || granted == 0 {
		return own + granted, err
	}
	if granted*lookup > own {
		query, args = unionOf(append(append([]branch(nil), r.granted...), r.own...), 0)
		return db.Count(ctx, q, "SELECT count(*) FROM ("+query+") AS found", args...)
	}
	both, err := db.Count(ctx, q, "SELECT count(*) FROM ("+query+") AS found "+
		"JOIN access_objects AS ao ON ao.id = found.id WHERE ao.org_id"+in(r.orgs), with(args, r.orgs)...)
	return own + granted - both, err
}

// sum counts branches that have nothing in common.
func (r readable) sum(ctx context.Context, q bun.IDB, branches []branch) (int, error) {
	n := 0
	for _, a := range branches {
		more, err := db.Count(ctx, q, "SELECT count(*)"+strings.TrimPrefix(a.text, "SELECT ao.id"), a.args...)
		if err != nil {
			return 0, err
		}
		n += more
	}
	return n, nil
}

// unionOf joins branches; of each it takes no more than limit, or all where that is zero.
func unionOf(branches []branch, limit int) (string, []any) {
	parts, args := make([]string, len(branches)), []any(nil)
	for i, a := range branches {
		parts[i], args = a.text, append(args, a.args...)
		if limit > 0 {
			parts[i] = "SELECT id FROM (" + a.text + " ORDER BY id LIMIT ?) AS branch"
			args = append(args, limit)
		}
	}
	return strings.Join(parts, " UNION "), args
}

// once returns the values without repetitions.
func once(values []string) []string { return slices.Compact(slices.Sorted(slices.Values(values))) }

// each gives every value a branch of its own, or all together one where they are too many.
func each(values []string) [][]string {
	if len(values) > maxBranches {
		return [][]string{values}
	}
	out := make([][]string, len(values))
	for i := range values {
		out[i] = values[i : i+1]
	}
	return out
}

// in is the condition that a column holds one of the values.
func in(values []string) string {
	if len(values) == 1 {
		return " = ?"
	}
	return " IN (" + strings.Repeat("?, ", len(values)-1) + "?)"
}

func with(args []any, values []string) []any {
	out := append([]any(nil), args...)
	for _, v := range values {
		out = append(out, v)
	}
	return out
}
