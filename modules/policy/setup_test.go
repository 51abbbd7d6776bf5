package policy_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlpolicy "github.com/writ-automation/writ/adapters/sqlstore/policy"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	module "github.com/writ-automation/writ/modules/policy"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	portids "github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/system"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is a clock that stands still.
type noon struct{}

func (noon) Now() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// license is of a tier that changes.
type license struct{ tier atomic.Value }

func (l *license) License(context.Context) system.LicenseStatus { return system.LicenseStatus{} }

func (l *license) Require(_ context.Context, feature string) error {
	tier, _ := l.tier.Load().(system.Tier)
	if tier != "" && (system.License{Tier: tier}).Allows(feature) {
		return nil
	}
	return system.Unlicensed(feature)
}

// utc is a calendar of one zone. It knows expressions of an hour for every day.
type utc struct{}

func (utc) Times(cron, timezone string) (policy.Times, error) {
	var hour int
	if _, err := fmt.Sscanf(cron, "0 %d * * *", &hour); err != nil {
		return nil, fault.BadField("cron", "not known")
	}
	if timezone != "" && timezone != "UTC" {
		return nil, fault.BadField("timezone", "not known")
	}
	return func(after time.Time) (time.Time, bool) {
		at := time.Date(after.Year(), after.Month(), after.Day(), hour, 0, 0, 0, time.UTC)
		if !at.After(after) {
			at = at.AddDate(0, 0, 1)
		}
		return at, true
	}, nil
}

func (utc) Instant(reading time.Time, _ string) (time.Time, error) { return reading, nil }

type viewerKey struct{}

// asViewer is a caller without the right to write.
func asViewer(ctx context.Context) context.Context { return context.WithValue(ctx, viewerKey{}, true) }

// guard hides inventories from viewers.
type guard struct{}

func (guard) May(ctx context.Context, want access.Level, objects ...string) (bool, error) {
	return ctx.Value(viewerKey{}) == nil || want == access.Read && !slices.ContainsFunc(objects, func(id string) bool {
		return portids.KindOf(id) == "inventory"
	}), nil
}

func (guard) Scope(ctx context.Context) (access.Scope, error) {
	return access.Scope{All: ctx.Value(viewerKey{}) == nil}, nil
}

type owners struct{}

func (owners) MayWrite(ctx context.Context, kind, org string) (bool, error) {
	return ctx.Value(viewerKey{}) == nil && (kind == "policy" || kind == "window") && org == "", nil
}

// bundle is the context over a real database.
type bundle struct {
	module.Result

	t      *testing.T
	d      *db.DB
	rights *sqlidentity.Store
	ids    *ids.Generator
	trail  *audittest.Recorder
	tier   *license
	runs   *sqlruns.Store
	params module.Params
}

func eachEngine(t *testing.T, test func(b *bundle)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(setup(t, d, policy.Source{})) })
}

// onSQLite opens SQLite, for tests that do not depend on the database.
func onSQLite(t *testing.T, source policy.Source) *bundle {
	t.Helper()
	return setup(t, dbtest.Open(t, db.SQLite, migrations.FS), source)
}

func setup(t *testing.T, d *db.DB, source policy.Source) *bundle {
	t.Helper()
	b := &bundle{t: t, d: d, rights: sqlidentity.New(d), ids: ids.New(noon{}), trail: &audittest.Recorder{},
		tier: &license{}, runs: sqlruns.New(d)}
	b.params = module.Params{Store: sqlpolicy.New(d), Windows: sqlpolicy.NewWindows(d), Calendar: utc{},
		Signals: d.Signals(), Source: source, Accounts: b.rights, Teams: b.rights,
		Licenses: b.tier, Runs: b.runs, Guard: guard{}, Owners: owners{}, Recorder: b.trail, Unit: d, Clock: noon{},
		IDs: b.ids}
	b.tier.tier.Store(system.Team)
	r, err := module.New(b.params)
	if err != nil {
		t.Fatal(err)
	}
	b.Result = r
	return b
}

func (b *bundle) team() string {
	b.t.Helper()
	id := b.ids.New(portids.Team)
	b.do(func(ctx context.Context) error {
		return b.rights.InsertTeam(ctx, identity.Team{ID: id, Name: id, CreatedAt: noon{}.Now(), CreatedBy: "x"})
	})
	return id
}

func (b *bundle) user() string {
	b.t.Helper()
	id := b.ids.New(portids.User)
	b.do(func(ctx context.Context) error {
		return b.rights.InsertAccount(ctx, identity.Account{User: identity.User{ID: id, Username: id,
			Role: identity.Operator, CreatedAt: noon{}.Now()}, UpdatedAt: noon{}.Now(), Revision: 1}, "")
	})
	return id
}

func (b *bundle) do(fn func(ctx context.Context) error) {
	b.t.Helper()
	if err := b.d.Do(b.t.Context(), fn); err != nil {
		b.t.Fatal(err)
	}
}

// holds is a policy that holds every run.
func holds(name string) policy.Policy {
	return policy.Policy{Record: object.Record{Name: name}, Effect: policy.RequireApproval, Enabled: true}
}

func (b *bundle) made(p policy.Policy) policy.Policy {
	b.t.Helper()
	made, err := b.Policies.Create(b.t.Context(), p)
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

// wantFault checks the code of a fault, and the field that it names.
func (b *bundle) wantFault(what string, err error, code fault.Code, field string) {
	b.t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || code.Name != "" && f.Code != code.Name || f.Kind != code.Kind ||
		field != "" && (len(f.Fields) != 1 || f.Fields[0].Location != field) {
		b.t.Errorf("%s: %v %+v", what, err, f)
	}
}

// names returns the names of the policies in force.
func (b *bundle) names() []string {
	b.t.Helper()
	list, tag, err := b.Policies.InForce(b.t.Context())
	if err != nil || tag == "" {
		b.t.Error(tag, err)
	}
	out := map[string]bool{}
	for _, p := range list {
		out[p.Name] = true
	}
	return slices.Sorted(maps.Keys(out))
}
