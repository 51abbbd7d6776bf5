package drift

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

// Drift implements estate.Drift.
type Drift struct {
	Store      estate.DriftStore
	Runs       runs.Store
	Plans      runs.PlanStore
	Reconciler runs.Reconciler
	Licenses   system.Licenses
	Guard      access.Guard
	Clock      clock.Clock
}

var _ estate.Drift = (*Drift)(nil)

func (s *Drift) Drift(ctx context.Context, q estate.DriftQuery) (estate.DriftPage, error) {
	scope, err := s.Guard.Scope(ctx)
	if err != nil {
		return estate.DriftPage{}, fmt.Errorf("decide what may be read: %w", err)
	}
	return s.Store.Findings(ctx, q, scope, s.Clock.Now())
}

func (s *Drift) Reconcile(ctx context.Context, host, target string) (*runs.Run, error) {
	if host == "" {
		return nil, fault.BadField("host", "must not be empty")
	}
	if err := s.Licenses.Require(ctx, estate.FeatureReconcile); err != nil {
		return nil, err
	}
	found, err := s.findings(ctx, host, target)
	if err != nil {
		return nil, err
	}
	newest := &found[0]
	for i := range found {
		f := &found[i]
		if f.Target.ID != newest.Target.ID {
			return nil, fault.BadField("target", "the host drifts from several targets; name one of them")
		}
		if f.LastSeen.After(newest.LastSeen) {
			newest = f
		}
	}
	var list []string
	for i := range found {
		if f := &found[i]; f.RunID == newest.RunID { // a run of some tags does not repair what an older one found
			list = append(list, f.ID)
		}
	}
	slices.Sort(list)
	q := estate.DriftQuery{Host: host, Target: newest.Target.ID}
	digest, err := s.planDigest(ctx, newest.RunID)
	if err != nil {
		return nil, err
	}
	made, err := s.Reconciler.Reconcile(ctx, newest.RunID, runs.Reconciliation{
		Host: host, SourceID: q.Target, Findings: list, PlanDigest: digest,
		Then: func(ctx context.Context, r *runs.Run) error { return s.bind(ctx, q, r, list) },
	})
	if runs.RunNotFound.Is(err) {
		return nil, estate.NoDrift.New("the dry run %s that found the drift was deleted; make another one", newest.RunID)
	}
	return made, err
}

// planDigest returns the digest of the plan of a dry run, empty for none. It returns Reconciling if a run that applies
// the plan has not ended.
func (s *Drift) planDigest(ctx context.Context, dryRun string) (string, error) {
	p, err := s.Plans.PlanOf(ctx, dryRun)
	if err != nil {
		return "", missing(err)
	}
	if p.ApplyID == "" {
		return p.Digest, nil
	}
	return p.Digest, s.ended(ctx, p.ApplyID)
}

// findings returns what the caller may read of the drift of a host.
func (s *Drift) findings(ctx context.Context, host, target string) ([]estate.Finding, error) {
	scope, err := s.Guard.Scope(ctx)
	if err != nil {
		return nil, fmt.Errorf("decide what may be read: %w", err)
	}
	p, err := s.every(ctx, estate.DriftQuery{Host: host, Target: target}, scope)
	switch {
	case err != nil || len(p.Findings) > 0:
		return p.Findings, err
	case p.Hosts == 0:
		return nil, estate.HostNotFound.New("no dry run checked the host %q", host)
	case p.Ignored > 0:
		return nil, estate.NoDrift.New("rules leave out all drift of the host %q (%d)", host, p.Ignored)
	case p.Checked == 0:
		return nil, estate.NoDrift.New("dry runs could check no task of the host %q, so its drift is not known", host)
	case p.Unknown > 0:
		return nil, estate.NoDrift.New("no drift of the host %q was found; tasks that could not be checked: %d", host,
			p.Unknown)
	default:
		return nil, estate.NoDrift.New("the host %q has no drift", host)
	}
}

// every returns all findings of a query, with the numbers of a page.
func (s *Drift) every(
	ctx context.Context, q estate.DriftQuery, scope access.Scope,
) (p estate.DriftPage, err error) {
	var list []estate.Finding
	now := s.Clock.Now()
	for {
		q.Window = page.Window{Offset: len(list), Limit: page.MaxRows}
		if p, err = s.Store.Findings(ctx, q, scope, now); err != nil {
			return p, err
		}
		if list = append(list, p.Findings...); len(p.Findings) < page.MaxRows {
			p.Findings = list
			return p, nil
		}
	}
}

// bind binds the findings to a new run, in the unit that stores it: of two such runs the second one finds the first.
func (s *Drift) bind(ctx context.Context, q estate.DriftQuery, r *runs.Run, list []string) error {
	if _, err := s.Store.Drifting(ctx, q.Target); err != nil { // locks the target
		return err
	}
	now, err := s.every(ctx, q, access.Everything())
	if err != nil {
		return err
	}
	left := 0
	asked := map[string]bool{}
	for i := range now.Findings {
		f := &now.Findings[i]
		if _, found := slices.BinarySearch(list, f.ID); !found {
			continue
		}
		left++
		if id := f.ReconcileRunID; id != "" && !asked[id] {
			asked[id] = true
			if err := s.ended(ctx, id); err != nil {
				return err
			}
		}
	}
	if left < len(list) {
		return estate.NoDrift.New("the drift of the host %q has changed meanwhile; ask again", q.Host)
	}
	return s.Store.Bind(ctx, r.ID, list)
}

// ended returns Reconciling for a run that has not ended.
func (s *Drift) ended(ctx context.Context, id string) error {
	r, err := s.Runs.ByID(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && r.Status.Terminal():
		return nil
	case err != nil:
		return err
	default:
		return estate.Reconciling.New("the run %s would repair this drift already; it is %s", id, r.Status).With("run_id", id)
	}
}
