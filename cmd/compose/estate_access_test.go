package compose_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	sqlestate "github.com/writ-automation/writ/adapters/sqlstore/estate"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// estateModel has the runs that reported hosts, beside the rights of who reads them.
type estateModel struct {
	*accessModel
	store *sqlestate.Store
	runs  []*runs.Run // in the order in which they ended; run i reported the host hostOf(i)
}

func (*estateModel) hostOf(i int) string { return fmt.Sprintf("web%02d", i%13) }

// report has dry runs of random objects report a result, facts and drift of a host each.
func (m *estateModel) report(ctx context.Context, n int) error {
	for i := range n {
		r := &runs.Run{ID: fmt.Sprintf("run_%026d", i), Status: runs.Succeeded,
			EndedAt: epoch().Add(time.Duration(i) * time.Minute),
			Spec:    runs.Spec{Tool: runs.Ansible, Playbook: fmt.Sprint("site", i, ".yml"), DryRun: true}}
		for range 1 + m.choose(3, "objects") {
			if id, ok := one(m.accessModel, m.objects, "object"); ok && !slices.Contains(r.Objects, id) {
				r.Objects = append(r.Objects, id)
			}
		}
		m.runs = append(m.runs, r)
	}
	for i, r := range m.runs {
		host := m.hostOf(i)
		err := m.d.Do(ctx, func(ctx context.Context) error {
			results := []runs.HostSummary{{Host: host, Worst: runs.HostOK}}
			if err := m.store.Report(ctx, estate.RunReport{Run: r, Hosts: results}); err != nil {
				return err
			}
			facts := estate.GatheredFacts{Host: host, GatheredAt: r.EndedAt, RunID: r.ID, Run: r, Objects: r.Objects,
				Stable: estate.Facts{"kernel": []byte(fmt.Sprint(i))}}
			if err := m.store.Record(ctx, []estate.GatheredFacts{facts}); err != nil {
				return err
			}
			_, err := m.store.Apply(ctx, estate.Checked{Run: r, Target: estate.TargetOf(&r.Spec), Tasks: []string{"t"},
				Hosts: []estate.HostCheck{{Host: host, At: r.EndedAt, States: []estate.TaskState{estate.Known}, Checked: 1,
					Findings: []estate.Finding{{Host: host, Task: "t", Key: "k", Resource: r.ID, Tasks: []string{"t"},
						Confidence: estate.ConfidentDiff}}}}}, r.EndedAt)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// seen is what an account finds of the estate.
type seen struct {
	Hosts, Facts, Drift []string
	NoFacts, NoDrift    int // withheld
}

// want asks the rules of the model about each run.
func (m *estateModel) want(user string, strict bool) (out seen) {
	grants := m.byObject()
	may := func(r *runs.Run) bool {
		return !slices.ContainsFunc(r.Objects, func(id string) bool {
			return !m.level(user, id, strict, grants[id]).Covers(access.Read)
		})
	}
	newest := map[string]*runs.Run{}
	for i, r := range m.runs {
		host := m.hostOf(i)
		newest[host] = r
		if !may(r) {
			out.NoDrift++
			continue
		}
		out.Drift = append(out.Drift, r.ID)
		if !slices.Contains(out.Hosts, host) {
			out.Hosts = append(out.Hosts, host)
		}
	}
	for _, r := range newest {
		if may(r) {
			out.Facts = append(out.Facts, r.ID)
		} else {
			out.NoFacts++
		}
	}
	slices.Sort(out.Hosts)
	slices.Sort(out.Facts)
	return out
}

// got asks the store as a reader with the scope of an account.
func (m *estateModel) got(ctx context.Context, s access.Scope) (out seen, err error) {
	end := epoch().Add(time.Hour * 24)
	err = m.store.Names(ctx, s, func(host string) error {
		out.Hosts = append(out.Hosts, host)
		return nil
	})
	if err != nil {
		return out, err
	}
	ranks, err := m.store.Hosts(ctx, estate.FleetQuery{Window: 100, Limit: 100}, s)
	if err == nil && ranks.Total != len(out.Hosts) {
		err = fmt.Errorf("%d hosts have a rank, and %d are named", ranks.Total, len(out.Hosts))
	}
	if err != nil {
		return out, err
	}
	err = m.store.At(ctx, estate.AtQuery{At: end}, s, func(r estate.Reading) error {
		out.Facts = append(out.Facts, r.RunID)
		return nil
	})
	if err != nil {
		return out, err
	}
	if out.NoFacts, err = m.store.Withheld(ctx, end, s); err != nil {
		return out, err
	}
	drift, err := m.store.Findings(ctx, estate.DriftQuery{Window: page.Window{Limit: page.MaxRows}}, s, end)
	for _, f := range drift.Findings {
		out.Drift = append(out.Drift, f.RunID)
	}
	out.NoDrift = drift.Withheld
	slices.Sort(out.Hosts)
	slices.Sort(out.Facts)
	slices.Sort(out.Drift)
	return out, err
}

// TestEstateShowsWhatDecisionsAllow compares, for accounts with random rights, what the fleet, the facts and the drift
// show and count as withheld with the decisions about the runs that reported it, before and after rights change.
// Keeps T10.
func TestEstateShowsWhatDecisionsAllow(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		m := &estateModel{accessModel: newAccessModel(d, func(n int, _ string) int { return r.IntN(n) }),
			store: sqlestate.New(d)}
		fill := func(n int, fn func()) {
			for range n {
				fn()
			}
		}
		fill(12, m.addAccount)
		fill(6, m.addTeam)
		fill(4, m.addOrg)
		fill(30, m.addObject)
		fill(20, m.joinTeam)
		fill(6, m.joinOrg)
		fill(25, m.grant)
		m.flush(t.Context(), t)
		if err := m.report(t.Context(), depthtest.Of(40, 120)); err != nil {
			t.Fatal(err)
		}
		both := deciders(t, m.accessModel)
		for range depthtest.Of(2, 6) {
			for user := range m.roles {
				m.compare(t, user, both)
			}
			fill(8, m.grant)
			fill(4, m.deleteGrant)
			fill(3, m.removeObject)
			fill(3, m.moveObject)
			fill(2, m.leaveTeam)
			m.flush(t.Context(), t)
		}
	})
}

func (m *estateModel) compare(t *testing.T, user string, deciders map[bool]identity.Authorizer) {
	t.Helper()
	c, err := m.accessModel.store.Caller(t.Context(), user, "")
	if err != nil {
		t.Fatal(err)
	}
	for strict, a := range deciders {
		s, err := a.Scope(t.Context(), identity.Principal{User: c.User, Version: c.Version})
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.got(t.Context(), s)
		if want := m.want(user, strict); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s %s (strict %v) finds\n%+v, not\n%+v: %v", c.User.Role, user, strict, got, want, err)
		}
	}
}
