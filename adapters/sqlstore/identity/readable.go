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
	// maxBranches is the largest number of branches of one kind in a statement. Beyond it one branch covers all
	// values.
	maxBranches = 100
	// deep is the end of a page from which its branches are read completely, because sorting their beginnings takes
	// longer.
	deep = 5000
	// lookup is the cost of looking up one object, in steps through an index.
	lookup = 8
)

// branch is a part of the readable objects: a SELECT of unique ids in the order of an index. A page reads no more of
// each branch than its own end, and counting a branch reads a range of an index.
type branch struct {
	text string
	args []any
}

// readable holds the branches of the readable objects of one kind. An object with a grant is restricted, so free and
// granted are disjoint; an organization's object may also be granted.
type readable struct {
	free    []branch // unrestricted objects
	granted []branch // objects with a grant to a subject of the scope; branches may overlap
	own     []branch // other objects in an organization of the scope
	orgs    []string
}

// Readable returns the objects that visible.Where accepts.
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
	found, err := db.Query[string](ctx, q, query+" ORDER BY id"+db.Limit+" OFFSET ?", append(args, w.Rows(), offset)...)
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
		return branch{"SELECT ao.id FROM access_objects AS ao WHERE ao.kind = ? AND ao.gone = FALSE AND ao.restricted = ?",
			[]any{kind, restricted}}
	}
	if sc.All {
		return readable{free: []branch{objects(false), objects(true)}}
	}
	r := readable{orgs: once(sc.Orgs)}
	from, to := between(kind)
	for _, subjects := range each(once(sc.Subjects)) {
		r.granted = append(r.granted,
			branch{"SELECT DISTINCT ag.object AS id FROM grants AS ag WHERE ag.object >= ? AND ag.object < ? " +
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

// between returns the bounds of the names of a kind's objects.
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

// restricted counts the objects of the branches except free, each object once. The number changes only with the
// version of rights.
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

// sum counts disjoint branches.
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

// unionOf joins branches with at most limit rows of each, or all if limit is zero.
func unionOf(branches []branch, limit int) (string, []any) {
	parts, args := make([]string, len(branches)), []any(nil)
	for i, a := range branches {
		parts[i], args = a.text, append(args, a.args...)
		if limit > 0 {
			parts[i] = "SELECT id FROM (" + a.text + " ORDER BY id" + db.Limit + ") AS branch"
			args = append(args, limit)
		}
	}
	return strings.Join(parts, " UNION "), args
}

// once returns the sorted values without duplicates.
func once(values []string) []string { return slices.Compact(slices.Sorted(slices.Values(values))) }

// each returns one branch per value, or a single one for all if there are too many.
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

// in returns the condition that a column has one of the values.
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
