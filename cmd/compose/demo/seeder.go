package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/estate"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

const day = 24 * time.Hour

// History is how far the content reaches back.
const History = 90 * day

// ToolVersion is the version that executions report.
const ToolVersion = "2.19.3"

// Ports are the ports by which content is made.
type Ports struct {
	fx.In

	Unit        tx.Unit
	Bootstrap   identity.Bootstrap
	Accounts    identity.Accounts
	Teams       identity.Teams
	Orgs        identity.Orgs
	Grants      identity.Grants
	Projects    catalog.Projects
	Inventories catalog.Inventories
	Templates   catalog.Templates
	Launcher    catalog.Launcher
	Credentials secrets.Credentials
	Schedules   scheduling.Schedules
	Slots       scheduling.SlotStore
	Planner     scheduling.Planner
	Triggers    scheduling.Triggers
	Hooks       scheduling.Hooks
	Policies    policy.Policies
	Windows     policy.Windows
	Submitter   runs.Submitter
	Controller  runs.Controller
	Approver    runs.Approver
	Worklist    runs.Worklist
	Journal     runs.Journal
	Reader      runs.Reader
	Estate      estate.Background
	// Subscribers are those of all events.
	Subscribers []events.Subscription `group:"events.subscriptions"`
}

// Seeder makes the content.
type Seeder struct {
	p Ports
	// Repository is the address of the project's repository; without one there is no project.
	Repository string

	clock     *Clock
	publisher *Publisher
	pins      *Pins
	now       time.Time // the end of the history
	rng       *rand.Rand
	playbooks map[string]*playbook
	fleet     []string

	accounts  map[string]identity.Account
	orgs      map[string]string
	teams     map[string]string
	project   string
	inventory map[string]string
	templates map[string]catalog.Template
	schedules map[string]scheduling.Schedule
	fired     map[string]*runs.Run // the last run of each schedule by its template
	trigger   scheduling.NewTrigger
	refused   string // the id of a rejected run
	large     *Unfinished
}

// NewSeeder returns a seeder.
func NewSeeder(p Ports, c *Clock, pub *Publisher, pins *Pins) *Seeder {
	return &Seeder{p: p, clock: c, publisher: pub, pins: pins, now: c.start.Add(History), rng: newRandom("content"),
		playbooks: playbooks(), fleet: fleet(), accounts: map[string]identity.Account{}, orgs: map[string]string{},
		teams: map[string]string{}, inventory: map[string]string{}, templates: map[string]catalog.Template{},
		schedules: map[string]scheduling.Schedule{}, fired: map[string]*runs.Run{}}
}

// Seed makes the content. The large run has begun then; Live ends it.
func (s *Seeder) Seed(ctx context.Context) error {
	s.p.Subscribers = slices.DeleteFunc(slices.Clone(s.p.Subscribers), func(x events.Subscription) bool {
		return x.Event != runs.Reported{}.EventName() // the others notify, measure and log
	})
	for _, part := range []struct {
		name string
		make func(context.Context) error
	}{
		{"accounts", s.makeAccounts}, {"project", s.makeProject}, {"catalog", s.makeCatalog}, {"rules", s.makeRules},
	} {
		if err := part.make(ctx); err != nil {
			return fmt.Errorf("make the %s: %w", part.name, err)
		}
	}
	if err := s.makeHistory(ctx); err != nil {
		return fmt.Errorf("make the history: %w", err)
	}
	if err := s.makePresent(ctx); err != nil {
		return fmt.Errorf("make the present runs: %w", err)
	}
	s.clock.Set(s.now)
	s.clock.Release()
	s.publisher.Release()
	return nil
}

// Rejected returns the id of a run that was rejected.
func (s *Seeder) Rejected() string { return s.refused }

// unit makes content in one unit of work.
func (s *Seeder) unit(ctx context.Context, fn func(context.Context) error) error {
	return s.p.Unit.Do(ctx, fn)
}

// as returns a context in which a person acts.
func (s *Seeder) as(ctx context.Context, name string) context.Context {
	a := s.accounts[name]
	ctx = actor.With(ctx, actor.Actor{Type: actor.User, ID: a.ID, Name: a.Username})
	return identity.With(ctx, identity.Principal{User: a.User, Open: true})
}

// worker returns the name of the worker of a run.
func worker(n int) string { return fmt.Sprintf("worker-%s-1", regions()[n%3]) }

// claim takes the next run of a queue, as its worker, and begins it.
func (s *Seeder) claim(ctx context.Context, queue string) (*runs.Assignment, error) {
	a, err := s.take(ctx, queue)
	if err != nil {
		return nil, err
	}
	return a, s.p.Worklist.Begin(ctx, a.Lease)
}

func (s *Seeder) take(ctx context.Context, queue string) (*runs.Assignment, error) {
	a, err := s.p.Worklist.Claim(ctx, runs.ClaimRequest{Worker: worker(s.rng.IntN(3)), Queues: []string{queue}})
	if err == nil && a == nil {
		err = fmt.Errorf("no run waits in the queue %s", queue)
	}
	return a, err
}

// performance is how a run is executed.
type performance struct {
	act    *act     // nil for a script
	lines  []string // of a script
	took   time.Duration
	status runs.Status // empty: as the result says
	reason string
	facts  bool
	output runs.Vars
}

// perform takes the next run of the default queue and executes it.
func (s *Seeder) perform(ctx context.Context, x performance) (*runs.Run, error) {
	a, err := s.claim(ctx, runs.DefaultQueue)
	if err != nil {
		return nil, err
	}
	return a.Run, s.finish(ctx, a, x)
}

// finish executes a run that has begun.
func (s *Seeder) finish(ctx context.Context, a *runs.Assignment, x performance) error {
	started := s.clock.Now()
	r := newRecord(started)
	next := a.NextSeq
	if x.act != nil {
		for st := range x.act.steps() {
			if x.status != "" && x.status != runs.Failed && len(r.tasks) > 2 {
				break // it is cut short
			}
			r.add(st, next)
			next += int64(len(st.events))
		}
	}
	for _, l := range x.lines {
		r.add(step{after: x.took / time.Duration(len(x.lines)), text: l + "\n"}, next)
	}
	status := x.status
	switch {
	case status != "":
	case r.failed():
		status = runs.Failed
	default:
		status = runs.Succeeded
	}
	s.clock.Set(r.at)
	e := r.ending(status, started)
	e.Error, e.Outputs = x.reason, x.output
	if x.act != nil {
		e.ToolVersion = ToolVersion
	}
	if x.facts {
		if err := s.gather(ctx, a, r); err != nil {
			return err
		}
	}
	if err := s.p.Worklist.Finish(ctx, a.Lease, e); err != nil {
		return fmt.Errorf("end run %s: %w", a.Run.Name, err)
	}
	return s.publisher.Flush(ctx, s.p.Subscribers)
}

// gather stores facts of the hosts that the run reached.
func (s *Seeder) gather(ctx context.Context, a *runs.Assignment, r *record) error {
	var list []runs.HostFacts
	since := s.clock.Now().Sub(s.now.Add(-History))
	for _, name := range r.order {
		if h := r.hosts[name]; h.Unreachable == 0 {
			list = append(list, runs.HostFacts{Host: name, GatheredAt: r.at,
				Facts: facts(name, slices.Index(s.fleet, name), since)})
		}
	}
	if err := s.p.Journal.SaveFacts(ctx, a.Lease, list); err != nil {
		return err
	}
	for _, l := range s.p.Estate.Group {
		if l.Name == "facts" {
			return l.Pass(ctx)
		}
	}
	return nil
}

// stepOf returns the run of a step.
func (s *Seeder) stepOf(ctx context.Context, pipeline, step string) (string, error) {
	list, err := s.p.Reader.Children(s.as(ctx, ada), pipeline)
	for _, r := range list {
		if r.StepName == step {
			return r.ID, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("the step %s has no run", step)
	}
	return "", err
}
