package policy

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

// Store implements policy.Store. It is safe for concurrent use.
type Store struct{ d *db.DB }

var _ policy.Store = (*Store)(nil)

// New makes a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d} }

type row struct {
	bun.BaseModel `bun:"table:policies,alias:o"`
	objects.Record
	columns
}

// columns is a policy.Policy with the names of its columns.
type columns struct {
	object.Record    `bun:"-"`
	Effect           policy.Effect
	Enabled          bool
	Match            policy.Match `bun:"criteria"`
	ExcludeDryRun    bool
	RiskAtLeast      runs.RiskLevel
	Actors           []string
	DistinctApprover bool
	Message          string
	ApprovalsNeeded  int
	ApproverTeams    []string
}

// rowOf returns the row of a policy. Policies have no organization.
func rowOf(p policy.Policy) row {
	p.Org = ""
	return row{Record: objects.Record(p.Record), columns: columns(p)}
}

func (r row) Object() policy.Policy {
	out := policy.Policy(r.columns)
	out.Record = object.Record(r.Record)
	return out
}

var policies = objects.Kind[policy.Policy, row]{Noun: "policy", Missing: policy.PolicyNotFound}

// Insert also returns NameTaken for an existing id.
func (s *Store) Insert(ctx context.Context, p policy.Policy) error {
	if err := change(ctx, s.d, ofRules); err != nil {
		return err
	}
	return policies.Insert(ctx, s.d, rowOf(p))
}

func (s *Store) ByID(ctx context.Context, id string) (policy.Policy, error) {
	return policies.ByID(ctx, s.d.Read(ctx), id)
}

func (s *Store) List(ctx context.Context, f policy.Filter, w page.Window) ([]policy.Policy, int, error) {
	return policies.List(ctx, s.d.Read(ctx), objects.Where("1 = 1", nil), catalog.Filter{Name: f.Name}, w)
}

func (s *Store) Update(ctx context.Context, p policy.Policy, revision int64) (policy.Policy, error) {
	if err := change(ctx, s.d, ofRules); err != nil {
		return policy.Policy{}, err
	}
	return policies.Update(ctx, s.d, rowOf(p), revision)
}

func (s *Store) Delete(ctx context.Context, id string, revision int64) error {
	if err := change(ctx, s.d, ofRules); err != nil {
		return err
	}
	return policies.Remove(ctx, s.d, id, revision)
}

func (s *Store) Version(ctx context.Context) (int64, error) { return versionOf(ctx, s.d, ofRules) }

// Enabled reads the version first, so that the list is not older.
func (s *Store) Enabled(ctx context.Context) ([]policy.Policy, int64, error) {
	v, err := s.Version(ctx)
	if err != nil {
		return nil, 0, err
	}
	var rows []row
	list, err := objects.All(ctx, policies.Select(s.d.Read(ctx), &rows).Where("o.enabled").OrderExpr("o.name").
		Apply(db.AtMost(policy.Max)), &rows)
	return list, v, db.Wrap(err, "list the enabled policies")
}
