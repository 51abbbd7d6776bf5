package submit

import (
	"cmp"
	"context"
	"time"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/modules/runs/internal/executors"
	"github.com/writ-automation/writ/modules/runs/internal/guard"
	"github.com/writ-automation/writ/modules/runs/internal/hostquery"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// keyLife is how long an idempotency key is stored, maxKey its maximum length.
const (
	keyLife = 24 * time.Hour
	maxKey  = 255
)

// Submitter accepts requests for runs.
type Submitter struct {
	machine     *lifecycle.Machine
	keys        runs.KeyStore
	tools       execution.Catalog
	refs        References
	credentials secrets.References
	targets     notify.Targets
	policies    policy.Evaluator
	binder      *binding.Binder
	gate        *guard.Gate
	hosts       hostquery.Hosts
	served      *executors.Queues
	queue       runs.Queue
	plans       runs.PlanStore
}

var (
	_ runs.Submitter = (*Submitter)(nil)
	_ runs.Checker   = (*Submitter)(nil)
)

// New returns a submitter. If refs is nil, no object of another context exists. If creds is nil, no credential
// does. If e is nil, there are no policies.
func New(
	m *lifecycle.Machine, keys runs.KeyStore, tools execution.Catalog, refs References, creds secrets.References,
	t notify.Targets, e policy.Evaluator, b *binding.Binder, g *guard.Gate,
) *Submitter {
	return &Submitter{machine: m, keys: keys, tools: tools, refs: refs, credentials: creds, targets: t, policies: e,
		binder: b, gate: g}
}

// WithHosts sets what selects hosts for queries. Without it every query is refused.
func (s *Submitter) WithHosts(q estate.HostQueries) *Submitter {
	s.hosts = hostquery.Hosts{Queries: q, Inventories: s.refs, Gate: s.gate}
	return s
}

// WithQueue sets what moves runs between queues.
func (s *Submitter) WithQueue(q runs.Queue) *Submitter {
	s.queue = q
	return s
}

// WithPlans sets what stores plans, for runs that repeat one which applies a plan.
func (s *Submitter) WithPlans(p runs.PlanStore) *Submitter {
	s.plans = p
	return s
}

// WithServed sets what knows the queues that are served. Without it a request is not warned of other ones.
func (s *Submitter) WithServed(q *executors.Queues) *Submitter {
	s.served = q
	return s
}

// Request is a submission with options that only the application itself may set.
type Request struct {
	runs.Submission
	// Of is the run that the new one is made from, or nil.
	Of *runs.Run
	// ShardHosts are the shards of a split, if they are known.
	ShardHosts [][]string
	// Repairs are the findings that the run is made to repair.
	Repairs []string
	// Then is called in the unit that stores the run, whose error undoes it. It may be nil.
	Then func(ctx context.Context, r *runs.Run) error
	// inherited are the credentials that the inventory adds.
	inherited []string
}

func (s *Submitter) Submit(ctx context.Context, sub runs.Submission) (*runs.Run, bool, error) {
	return s.Take(ctx, Request{Submission: sub})
}

func (s *Submitter) Check(ctx context.Context, sub runs.Submission) error {
	return s.complete(ctx, &Request{Submission: sub}, s.hosts.Check)
}

// complete fills in the defaults of a request and validates it.
func (s *Submitter) complete(ctx context.Context, q *Request, choose hostquery.Chooser) error {
	var err error
	if q.Of == nil && q.InventoryQuery != "" { // hosts of a run that is made from another one are chosen
		err = choose(ctx, hostquery.Query{Text: q.InventoryQuery, Origin: q.Origin}, &q.InventoryID, &q.LimitHosts)
	}
	if err != nil {
		return err
	}
	if q.inherited, err = s.inherit(ctx, q.InventoryID, &q.Queue); err != nil {
		return err
	}
	normalise(&q.Spec)
	return s.validate(ctx, q)
}

// Take is Submit for requests that are made from other runs.
func (s *Submitter) Take(ctx context.Context, q Request) (*runs.Run, bool, error) {
	if err := s.complete(ctx, &q, s.hosts.Choose); err != nil {
		return nil, false, err
	}
	switch {
	case q.Of == nil || q.DryRun:
		q.PlanDigest = ""
	case q.PlanDigest != "":
		q.RequireApproval = true
	}
	if q.Of != nil {
		var err error
		if q.RequireApproval, err = s.heldAgain(ctx, q.TemplateID, q.RequireApproval, nil); err != nil {
			return nil, false, err
		}
	}
	r := s.record(ctx, q.Origin)
	if err := s.pin(ctx, r, q.ProjectID, q.Of); err != nil {
		return nil, false, err
	}
	r.Name, r.Spec, r.Labels, r.Change, r.Vars = q.Name, q.Spec, q.Labels, q.Change, q.ExtraVars
	r.Kind, r.ShardHosts = runs.Single, q.ShardHosts
	if q.Spec.Shards > 1 || q.ShardHosts != nil {
		r.Kind = runs.Split
		r.ShardCount = len(q.ShardHosts)
	}
	r.Repairs = q.Repairs
	descend(r, q.Of, nil)
	return s.store(ctx, r, q)
}

func (s *Submitter) validate(ctx context.Context, q *Request) error {
	if err := s.known("tool", q.Tool); err != nil {
		return err
	}
	c := newChecks()
	c.runes("name", q.Name, maxName)
	c.labels(q.Labels, q.Change)
	c.vars("extra_vars", q.ExtraVars)
	s.spec(c, &q.Spec)
	c.locks(q.Locks, vouchedLocks(q.Origin, q.Of))
	c.key(q.Idempotency)
	all := union(q.CredentialIDs, q.inherited)
	c.total(q.CredentialIDs, all)
	if err := c.fault(); err != nil {
		return err
	}
	refs := markInherited(references("", q.InventoryID, q.ProjectID, q.Queue, q.CredentialIDs), "inventory_id",
		q.inherited)
	if err := s.resolve(ctx, refs, q.Vouched); err != nil {
		return err
	}
	q.CredentialIDs = all
	return s.compatible(ctx, "credential_ids", all)
}

func (c checks) key(k *runs.Idempotency) {
	if k == nil {
		return
	}
	if k.Key == "" || len(k.Key) > maxKey {
		c.bad("Idempotency-Key", "must have from 1 to %d bytes", maxKey)
		return
	}
	c.text("Idempotency-Key", k.Key, maxKey)
}

// record returns a new record with the caller as its actor.
func (s *Submitter) record(ctx context.Context, o runs.Origin) *runs.Run {
	o.Source = cmp.Or(o.Source, runs.FromAPI)
	who := actor.From(ctx)
	if p, known := identity.From(ctx); known && who.Type != actor.User {
		o.Owner = p.User.ID
	}
	return &runs.Run{ID: s.machine.NewID(), Status: runs.Pending, Origin: o, Actor: who, CreatedAt: s.machine.Now()}
}

// store stores the run, unless its key made one before, a policy denies it, or its template is busy. It writes the key
// first: the second of two equal requests waits there for the first, and then finds its run.
func (s *Submitter) store(ctx context.Context, r *runs.Run, q Request) (*runs.Run, bool, error) {
	key := q.Idempotency
	if err := s.hide(ctx, r, q.Of); err != nil {
		return nil, false, err
	}
	asked, err := detail(r)
	if err != nil {
		return nil, false, err
	}
	if err := s.warnUnserved(ctx, r); err != nil {
		return nil, false, err
	}
	sealed, err := s.targets.Seal(ctx, r.Spec.Notifications)
	if err != nil {
		return nil, false, err
	}
	var hosts []policy.Targets
	if s.policies != nil {
		if hosts, err = s.binder.Hosts(ctx, r); err != nil {
			return nil, false, err
		}
	}
	var first *runs.Remembered
	err = s.evaluated(ctx, r, func(ctx context.Context, b *bound) error {
		first = nil
		if key != nil {
			var err error
			first, err = s.keys.Remember(ctx, owner(r.Actor), *key, r.ID, r.CreatedAt, r.CreatedAt.Add(-keyLife))
			if err != nil || first != nil {
				return err
			}
		}
		if err := s.evaluate(ctx, r, hosts, b); err != nil {
			return err
		}
		if err := s.decideBusy(ctx, r, q.WhenBusy); err != nil {
			return err
		}
		if len(r.Risk.Reasons) > 0 {
			asked["risk"] = risk(r.Risk)
		}
		if err := s.note(ctx, r, asked); err != nil {
			return err
		}
		if err := s.enter(ctx, r, sealed); err != nil {
			return err
		}
		if err := s.keepPlan(ctx, r, q.Of); err != nil || q.Then == nil {
			return err
		}
		return q.Then(ctx, r)
	})
	if err != nil {
		return nil, false, s.refused(ctx, r, asked, err)
	}
	if first == nil {
		return record.Redact(r), false, nil
	}
	if first.Digest != key.Digest {
		return nil, false, keyReused("the idempotency key was used with another request")
	}
	was, err := s.replay(ctx, first.RunID)
	return was, err == nil, err
}

// enter stores a run in the open unit. The record holds masks of its notification targets.
func (s *Submitter) enter(ctx context.Context, r *runs.Run, sealed notify.SealedTargets) (err error) {
	entered := *r
	if entered.Spec.Notifications, err = s.targets.Save(ctx, sealed); err != nil {
		return err
	}
	if err := s.machine.Enter(ctx, &entered); err != nil {
		return err
	}
	r.Seq, r.Graph, r.Gated, r.Slotted = entered.Seq, entered.Graph, entered.Gated, entered.Slotted
	if r.Status != runs.PendingApproval {
		return nil
	}
	return s.machine.Publisher.Publish(ctx, runs.HeldBy(r))
}

// replay returns the run that a key made before. A run that the caller may no longer read is reported like a deleted
// one.
func (s *Submitter) replay(ctx context.Context, id string) (*runs.Run, error) {
	was, err := s.machine.Store.ByID(ctx, id)
	readable := err == nil
	if readable {
		readable, err = s.gate.May(ctx, access.Read, was.Objects...)
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if !readable {
		return nil, keyReused("the run of this idempotency key no longer exists")
	}
	if err := s.binder.Current(ctx, was); err != nil {
		return nil, err
	}
	return record.Redact(was), nil
}

func keyReused(text string) error {
	return runs.WithReasons(runs.KeyReused.New("%s", text),
		runs.Reason{Next: "send the request with another Idempotency-Key"})
}

// owner returns the owner of the actor's idempotency keys.
func owner(a actor.Actor) string {
	if a.ID != "" {
		return a.ID
	}
	return string(a.Type) + ":" + a.Name
}
