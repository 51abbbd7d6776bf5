package estate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/ids"
)

// Bounds of one statement: hosts whose findings are read at once, rows that are written, and targets that are deleted.
const (
	hostsPerRead    = 200
	findingsPerRow  = 100
	targetsPerPurge = 8
)

type targetRow struct {
	bun.BaseModel `bun:"table:drift_targets,alias:t"`
	ID            string `bun:",pk"`
	TemplateID    string
	ProjectID     string
	Playbook      string
	InventoryID   string
	CheckedAt     time.Time
}

type driftHost struct {
	bun.BaseModel `bun:"table:drift_hosts,alias:d"`
	TargetID      string `bun:",pk"`
	Host          string `bun:",pk"`
	ReportedAt    time.Time
	RunID         string
	ScopeID       int64
	Partial       bool
	Checked       int
	Unknown       int
	CheckedAt     time.Time
}

type findingRow struct {
	bun.BaseModel  `bun:"table:drift_findings,alias:f"`
	TargetID       string `bun:",pk"`
	Host           string `bun:",pk"`
	FindingKey     string `bun:",pk"`
	ID             string
	Task           string
	Resource       string
	Tasks          []string
	Path           string
	Diff           string
	Confidence     estate.Confidence
	RunID          string
	ScopeID        int64
	CheckedAt      time.Time
	FirstSeen      time.Time
	LastSeen       time.Time
	Unconfirmed    bool
	ReconcileRunID string
	ClearedAt      time.Time `bun:",nullzero"`
}

var _ estate.DriftStore = (*Store)(nil)

// application stores one result.
type application struct {
	*Store
	estate.Checked
	q     bun.IDB
	scope int64
	tasks map[string]int // the index of each task
	now   time.Time
}

func (s *Store) Apply(ctx context.Context, c estate.Checked, now time.Time) ([]estate.Finding, error) {
	a := application{Store: s, Checked: c, q: s.d.InUnit(ctx), tasks: make(map[string]int, len(c.Tasks)), now: db.Cut(now)}
	for i, t := range c.Tasks {
		a.tasks[t] = i
	}
	known, err := a.target(ctx)
	if err == nil && known {
		a.scope, _, err = s.scopes.Of(ctx, a.q, c.Run.Objects)
	}
	if err != nil || !known {
		return nil, err
	}
	var found []estate.Finding
	for part := range slices.Chunk(c.Hosts, hostsPerRead) {
		fresh, err := a.hosts(ctx, part)
		if err != nil {
			return nil, fmt.Errorf("store what run %s tells of drift: %w", c.Run.ID, err)
		}
		found = append(found, fresh...)
	}
	if err := a.forget(ctx); err != nil {
		return nil, err
	}
	return found, s.purgeTargets(ctx, a.q, now.Add(-estate.KeepUnchecked))
}

// target locks the target. A real run does not make one.
func (a *application) target(ctx context.Context) (known bool, err error) {
	if a.Real {
		return a.lockTarget(ctx, a.q, a.Target.ID)
	}
	t := targetRow{ID: a.Target.ID, TemplateID: a.Target.TemplateID, ProjectID: a.Target.ProjectID,
		Playbook: clean(a.Target.Playbook), InventoryID: a.Target.InventoryID, CheckedAt: a.now}
	_, err = db.Modify(ctx, a.q.NewInsert().Model(&t).On("CONFLICT (id) DO UPDATE").
		Set("checked_at = EXCLUDED.checked_at"))
	return err == nil, db.Wrap(err, "store a target of drift")
}

func (s *Store) lockTarget(ctx context.Context, q bun.IDB, id string) (known bool, err error) {
	known, err = db.First(ctx, q.NewSelect().Model((*targetRow)(nil)).Column("id").Where("t.id = ?", id).
		Apply(s.dialect.Lock), new(string))
	return known, db.Wrap(err, "lock a target of drift")
}

func (s *Store) Drifting(ctx context.Context, target string) (bool, error) {
	q := s.d.InUnit(ctx)
	if known, err := s.lockTarget(ctx, q, target); err != nil || !known {
		return false, err
	}
	some, err := q.NewSelect().Model((*findingRow)(nil)).Where("f.target_id = ?", target).Exists(ctx)
	return some, db.Wrap(err, "look for drift")
}

// hosts stores the results of some hosts, except those that have a later one.
func (a *application) hosts(ctx context.Context, checks []estate.HostCheck) ([]estate.Finding, error) {
	checks = slices.Clone(checks)
	names := make([]string, len(checks))
	for i := range checks {
		h := &checks[i]
		h.Host, h.At = clean(h.Host), db.Cut(h.At)
		if h.At.After(a.now) {
			h.At = a.now // otherwise nothing newer would ever apply
		}
		names[i] = h.Host
	}
	var last []driftHost
	var rows []findingRow
	of := func(q *bun.SelectQuery) error {
		return q.Where("target_id = ? AND host IN (?)", a.Target.ID, bun.In(names)).Scan(ctx)
	}
	if err := of(a.q.NewSelect().Model(&last)); err != nil {
		return nil, db.Translate(err)
	}
	if err := of(a.q.NewSelect().Model(&rows)); err != nil {
		return nil, db.Translate(err)
	}
	before := make(map[string]driftHost, len(last))
	for _, d := range last {
		before[d.Host] = d
	}
	old := make(map[string][]findingRow, len(last))
	for _, r := range rows {
		old[r.Host] = append(old[r.Host], r)
	}
	var w writes
	for i := range checks {
		h := &checks[i]
		d, known := before[h.Host]
		if h.At.IsZero() || known && !h.At.After(d.ReportedAt) || !known && a.Real {
			continue
		}
		a.fold(h, old[h.Host], &w)
		w.hosts = append(w.hosts, a.coverage(h, d, known))
	}
	return w.found, a.write(ctx, &w)
}

// coverage returns the row of a host. A run of some tags replaces no other one's numbers.
func (a *application) coverage(h *estate.HostCheck, d driftHost, known bool) driftHost {
	d.TargetID, d.Host, d.ReportedAt = a.Target.ID, h.Host, h.At
	if a.Real || known && a.Partial && !d.Partial {
		return d
	}
	d.RunID, d.ScopeID, d.Partial = a.Run.ID, a.scope, a.Partial
	d.Checked, d.Unknown, d.CheckedAt = h.Checked, h.Unknown, h.At
	return d
}

// writes are the rows that differ.
type writes struct {
	hosts        []driftHost
	gone, stored []findingRow
	found        []estate.Finding
}

// fold compares the result of a host with its findings.
func (a *application) fold(h *estate.HostCheck, old []findingRow, w *writes) {
	found := make(map[string]*estate.Finding, len(h.Findings))
	for i := range h.Findings {
		found[h.Findings[i].Key] = &h.Findings[i]
	}
	for _, r := range old {
		f := found[r.FindingKey]
		delete(found, r.FindingKey)
		i, shown := a.tasks[r.Task]
		state := estate.Untold
		if shown && i < len(h.States) {
			state = h.States[i]
		}
		cleared := !r.ClearedAt.IsZero()
		switch {
		case a.Real && state == estate.Known && slices.Contains(h.Changed, i):
			r.ClearedAt = h.At
			w.stored = append(w.stored, r)
		case a.Real && state != estate.Known:
		case f != nil:
			a.again(&r, f, h, w)
		case a.Real, state == estate.Known, !shown && h.Whole:
			w.gone = append(w.gone, r)
		case !cleared && !(a.Partial && state == estate.Untold):
			r.Unconfirmed, r.CheckedAt = true, h.At
			w.stored = append(w.stored, r)
		}
	}
	for i := range h.Findings {
		if f := found[h.Findings[i].Key]; f != nil {
			a.discover(f, h, w)
		}
	}
}

// again stores a finding that was found before. One that a real run has repaired in between is a new one; if that
// happens twice, its task may always report a change.
func (a *application) again(r *findingRow, f *estate.Finding, h *estate.HostCheck, w *writes) {
	repaired, doubted := !r.ClearedAt.IsZero(), r.Confidence == estate.ConfidentNone
	a.show(r, f, h)
	if repaired || doubted {
		r.Confidence = estate.ConfidentNone
	}
	if repaired {
		r.ClearedAt, r.ReconcileRunID = time.Time{}, ""
		if !doubted {
			a.first(r, h, w)
		}
	}
	w.stored = append(w.stored, *r)
}

func (a *application) discover(f *estate.Finding, h *estate.HostCheck, w *writes) {
	r := findingRow{TargetID: a.Target.ID, Host: h.Host, FindingKey: f.Key, Task: f.Task, Resource: clean(f.Resource)}
	a.show(&r, f, h)
	a.first(&r, h, w)
	w.stored = append(w.stored, r)
}

// show stores what the run reports of a finding.
func (a *application) show(r *findingRow, f *estate.Finding, h *estate.HostCheck) {
	r.Path, r.Diff, r.Confidence, r.Unconfirmed = clean(f.Path), clean(string(f.Diff)), f.Confidence, false
	r.RunID, r.ScopeID, r.CheckedAt, r.LastSeen = a.Run.ID, a.scope, h.At, h.At
	r.Tasks = make([]string, len(f.Tasks))
	for i, t := range f.Tasks {
		r.Tasks[i] = clean(t)
	}
}

// first makes a finding a new one, with an id of its own.
func (a *application) first(r *findingRow, h *estate.HostCheck, w *writes) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %s %d", r.TargetID, r.Host, r.FindingKey, h.At.UnixMicro()))
	r.ID, r.FirstSeen = string(ids.Finding)+hex.EncodeToString(sum[:13]), h.At
	w.found = append(w.found, r.finding(a.Target))
}

func (r *findingRow) finding(t estate.Target) estate.Finding {
	out := estate.Finding{ID: r.ID, Host: r.Host, Target: t, Key: r.FindingKey, Task: r.Task, Resource: r.Resource,
		Tasks: r.Tasks, Path: r.Path, Confidence: r.Confidence, RunID: r.RunID, CheckedAt: r.CheckedAt.UTC(),
		FirstSeen: r.FirstSeen.UTC(), LastSeen: r.LastSeen.UTC(), Unconfirmed: r.Unconfirmed,
		ReconcileRunID: r.ReconcileRunID}
	if r.Diff != "" {
		out.Diff = []byte(r.Diff)
	}
	return out
}

func (a *application) write(ctx context.Context, w *writes) error {
	for part := range slices.Chunk(w.gone, findingsPerRow) {
		if _, err := db.Modify(ctx, a.q.NewDelete().Model(&part).WherePK()); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(w.stored, findingsPerRow) {
		if _, err := db.Modify(ctx, a.q.NewInsert().Model(&part).
			On("CONFLICT (target_id, host, finding_key) DO UPDATE")); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(w.hosts, findingsPerRow) {
		if _, err := db.Modify(ctx, a.q.NewInsert().Model(&part).On("CONFLICT (target_id, host) DO UPDATE")); err != nil {
			return err
		}
	}
	return nil
}

// purgeTargets deletes some targets that no dry run has checked since an instant.
func (s *Store) purgeTargets(ctx context.Context, q bun.IDB, before time.Time) error {
	var old []string
	if err := q.NewSelect().Model((*targetRow)(nil)).Column("id").Where("t.checked_at < ?", before).
		OrderExpr("t.checked_at").Limit(targetsPerPurge).Apply(s.dialect.LockSkip).Scan(ctx, &old); err != nil {
		return db.Wrap(err, "look for old targets of drift")
	}
	if len(old) == 0 {
		return nil
	}
	for _, d := range []*bun.DeleteQuery{
		q.NewDelete().Model((*findingRow)(nil)).Where("f.target_id IN (?)", bun.In(old)),
		q.NewDelete().Model((*driftHost)(nil)).Where("d.target_id IN (?)", bun.In(old)),
		q.NewDelete().Model((*targetRow)(nil)).Where("t.id IN (?)", bun.In(old)),
	} {
		if _, err := db.Modify(ctx, d); err != nil {
			return fmt.Errorf("delete old targets of drift: %w", err)
		}
	}
	return nil
}
