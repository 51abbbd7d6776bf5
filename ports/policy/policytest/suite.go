package policytest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Stores are the store under test, those of rights, and the unit of work that they join. They share one database.
type Stores struct {
	Unit     tx.Unit
	Policies policy.Store
	Windows  policy.WindowStore

	Orgs    identity.OrgStore
	Teams   identity.TeamStore
	Grants  identity.GrantStore
	Objects identity.ObjectStore
}

// Each opens fresh stores for each configuration of the implementation, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

// env holds the stores of a case and makes records for them.
type env struct {
	Stores
	*objecttest.Env
}

func newEnv(s Stores) *env {
	rights := objecttest.Rights{Orgs: s.Orgs, Teams: s.Teams, Grants: s.Grants, Objects: s.Objects}
	return &env{Stores: s, Env: objecttest.NewEnv(s.Unit, rights)}
}

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	txtest.Run(t, []txtest.Group[*env]{
		{Name: "policies", Cases: txtest.With(objecttest.Cases(func(e *env) *objecttest.Env { return e.Env }, policies),
			txtest.Cases[*env]{
				"versions":            versions,
				"versions at once":    versionsRace,
				"what is enabled":     enabled,
				"never an older list": neverOlder,
			})},
		{Name: "windows", Cases: txtest.With(objecttest.Cases(func(e *env) *objecttest.Env { return e.Env }, windows),
			txtest.Cases[*env]{
				"versions":        windowVersions,
				"what is enabled": enabledWindows,
			})},
	}, each, newEnv)
}

const odd = txtest.Odd

// long is a text that exceeds usual limits of columns.
var long = strings.Repeat("漢'\"\\", 2_000)

func policies(e *env) objecttest.Store[policy.Policy] {
	s := e.Policies
	number := func(n int) *int { return &n }
	return objecttest.Store[policy.Policy]{
		Prefix: ids.Policy, Missing: policy.PolicyNotFound, Shared: true,
		Record: func(p *policy.Policy) *object.Record { return &p.Record },
		Plain: func(r object.Record) policy.Policy {
			return policy.Policy{Record: r, Effect: policy.RequireApproval}
		},
		Full: func(r object.Record) policy.Policy {
			return policy.Policy{
				Record: r, Effect: policy.Deny, Enabled: true,
				Match: policy.Match{
					Tools: []string{"bash", odd}, CommandContains: odd, Playbook: "*.yml", InventoryIDs: []string{"inv_1"},
					TemplateIDs: []string{"tpl_1", "tpl_2"}, ProjectIDs: []string{"prj_1"}, Queues: []string{"a", "b"},
					Sources: []runs.Source{runs.FromAPI}, CredentialIDs: []string{"crd_1"},
					Labels: map[string]string{"env": "*", odd: odd, "empty": ""}, HostsOver: number(0),
					InventoryShareOver: number(100), LimitMissing: true, ChangeMissing: true,
				},
				ExcludeDryRun: true, RiskAtLeast: runs.HighRisk, Actors: []string{"user:usr_1", odd}, DistinctApprover: true,
				Message: long + "\n" + odd, ApprovalsNeeded: 10, ApproverTeams: []string{"team_1", odd},
			}
		},
		Change: func(p *policy.Policy) {
			p.Effect, p.Enabled = policy.RequireApproval, !p.Enabled
			p.Match = policy.Match{Playbook: "'a'", HostsOver: number(1 << 30)}
			p.ExcludeDryRun, p.RiskAtLeast, p.Actors = !p.ExcludeDryRun, runs.LowRisk, []string{"team:'b'"}
			p.DistinctApprover, p.Message, p.ApprovalsNeeded = !p.DistinctApprover, "'c'", 3
			p.ApproverTeams = []string{"'d'"}
		},
		Insert: s.Insert, ByID: s.ByID, Update: s.Update, Remove: s.Delete,
		List: func(ctx context.Context, _ access.Scope, f catalog.Filter, w page.Window) ([]policy.Policy, int, error) {
			return s.List(ctx, policy.Filter{Name: f.Name}, w)
		},
	}
}

func (e *env) version(ctx context.Context, t *testing.T) int64 {
	t.Helper()
	v, err := e.Policies.Version(ctx)
	txtest.NoError(t, err)
	return v
}

// versions checks that every write counts, also within its unit, and that nothing else does.
func versions(t *testing.T, e *env) {
	s := policies(e)
	v := s.Plain(e.Record(s.Prefix, ""))
	writes := []func(ctx context.Context) error{
		func(ctx context.Context) error { return e.Policies.Insert(ctx, v) },
		func(ctx context.Context) error {
			_, err := e.Policies.Update(ctx, v, 0)
			return err
		},
		func(ctx context.Context) error { return e.Policies.Delete(ctx, v.ID, 0) },
	}
	stop := errors.New("stop")
	for i, write := range writes {
		was := e.version(t.Context(), t)
		txtest.Same(t, "writes until now", int64(i), was)
		err := e.Do(t, func(ctx context.Context) error {
			txtest.NoError(t, write(ctx))
			txtest.Same(t, "in the unit", was+1, e.version(ctx, t))
			return stop
		})
		if !errors.Is(err, stop) {
			t.Error(err)
		}
		txtest.Same(t, "after a rollback", was, e.version(t.Context(), t))
		e.Must(t, write)
		txtest.Same(t, "after the commit", was+1, e.version(t.Context(), t))
		if err := write(t.Context()); err == nil {
			t.Error("a write outside of a unit")
		}
	}
	e.Refused(t, policy.PolicyNotFound, writes[1])
	txtest.Same(t, "after a refusal", int64(len(writes)), e.version(t.Context(), t))
}

func versionsRace(t *testing.T, e *env) {
	s := policies(e)
	won := e.Wins(t, txtest.Crowd, policy.NameTaken, func(ctx context.Context, _ int) error {
		return e.Policies.Insert(ctx, s.Plain(e.Record(s.Prefix, "")))
	})
	txtest.Same(t, "the version", int64(won), e.version(t.Context(), t))
	txtest.Same(t, "stored", txtest.Crowd, won)
}

func enabled(t *testing.T, e *env) {
	s := policies(e)
	check := func(ctx context.Context, version int64, names ...string) {
		t.Helper()
		list, v, err := e.Policies.Enabled(ctx)
		txtest.NoError(t, err)
		got := []string{}
		for _, p := range list {
			got = append(got, p.Name)
			stored, err := e.Policies.ByID(ctx, p.ID)
			txtest.NoError(t, err)
			txtest.Same(t, "a whole policy", stored, p)
		}
		txtest.Same(t, "enabled", append([]string{}, names...), got)
		txtest.Same(t, "version", version, v)
	}
	check(t.Context(), 0)
	add := func(ctx context.Context, name string, on bool) error {
		p := s.Full(e.Record(s.Prefix, name))
		p.Enabled = on
		return e.Policies.Insert(ctx, p)
	}
	e.Must(t, func(ctx context.Context) error {
		return errors.Join(add(ctx, "b", true), add(ctx, "a", true), add(ctx, "c", false), add(ctx, "B", true))
	})
	check(t.Context(), 4, "B", "a", "b")
	e.Must(t, func(ctx context.Context) error {
		err := add(ctx, "0", true)
		check(ctx, 5, "0", "B", "a", "b")
		return err
	})
}

// neverOlder reads while others write: a list is never older than its version.
func neverOlder(t *testing.T, e *env) {
	s, done := policies(e), make(chan struct{})
	go func() {
		defer close(done)
		for range 30 {
			p := s.Plain(e.Record(s.Prefix, ""))
			p.Enabled = true
			if err := e.Do(t, func(ctx context.Context) error { return e.Policies.Insert(ctx, p) }); err != nil {
				t.Error(err)
			}
		}
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		list, v, err := e.Policies.Enabled(t.Context())
		txtest.NoError(t, err)
		if int64(len(list)) < v {
			t.Fatalf("%d policies of version %d", len(list), v)
		}
	}
}
