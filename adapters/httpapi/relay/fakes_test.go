package relay_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// fakePlane is the control plane behind the routes: one run is held, by one capability.
type fakePlane struct {
	mu      sync.Mutex
	asked   []any // what it was asked, the newest last
	actor   actor.Actor
	request actor.Request
	worker  execution.Peer
	err     error

	claim   claiming
	project projecting
}

type (
	claiming   func(ctx context.Context, c execution.RelayClaim) (*execution.Grant, string, error)
	projecting func(ctx context.Context, open func() (io.Writer, error)) error
)

var (
	_ execution.Relay          = (*fakePlane)(nil)
	_ execution.RelayJournal   = (*fakePlane)(nil)
	_ execution.RelayMaterials = (*fakePlane)(nil)
	_ execution.RelayWorks     = (*fakePlane)(nil)
)

func newFakePlane() *fakePlane {
	return &fakePlane{
		claim: func(context.Context, execution.RelayClaim) (*execution.Grant, string, error) {
			return &execution.Grant{Run: run(), Capability: capability, Lease: runs.LeaseTTL}, "", nil
		},
		project: func(_ context.Context, open func() (io.Writer, error)) error {
			w, err := open()
			if err == nil {
				_, err = io.WriteString(w, "archive")
			}
			return err
		},
	}
}

// run is the held run.
func run() execution.RelayRun {
	return execution.RelayRun{
		ID: held, Kind: runs.Single, Status: runs.Running, Spec: runs.Spec{
			Tool: "bash", Command: "true", Queue: "default",
			Notifications: []runs.Notification{{Kind: "slack", URL: "https://x.test/c4n4ry", Ref: "ntg_1"}},
		},
		ExtraVars: runs.Vars{"n": []byte("1.0")}, Epoch: 3, CreatedAt: time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC),
	}
}

// full is an injection with a canary in every place.
func full() secrets.Injection {
	return secrets.Injection{
		Env: map[string]secret.Text{"TOKEN": "C4naryEnv"}, ExtraVars: map[string]any{"v": "C4naryVar"},
		Files: []secrets.File{{Name: "f", Content: "C4naryFile"}},
		Keys:  []secrets.Key{{PrivateKey: "C4naryKey", Comment: "k"}},
		Login: secrets.Login{User: "root", Password: "C4naryPass", BecomePassword: "C4naryBecome",
			Vaults: []secrets.Vault{{ID: "v", Password: "C4naryVault"}}},
		Hide: []secret.Text{"C4naryHide"},
	}
}

func (s *fakePlane) answer(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// claims and projects set the results of these calls from now on.
func (s *fakePlane) claims(f claiming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claim = f
}

func (s *fakePlane) projects(f projecting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.project = f
}

// by returns the last caller and its request.
func (s *fakePlane) by() (actor.Actor, actor.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.actor, s.request
}

// peer returns the last worker as its token introduced it.
func (s *fakePlane) peer() execution.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worker
}

// take returns the calls since the last take.
func (s *fakePlane) take() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asked
	s.asked = nil
	return out
}

// hear records a call with an audit entry, and refuses it unless it comes from the holder of the run.
func (s *fakePlane) hear(ctx context.Context, h *execution.Leaseholder, what any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, what)
	s.actor, s.request = actor.From(ctx), actor.RequestOf(ctx)
	s.worker, _ = execution.PeerOf(ctx)
	audit.CollectorOf(ctx).Put(audit.Receipt{Seq: 7}, "")
	if h != nil && (h.RunID != held && h.RunID != heldWork || h.Capability.Reveal() != capability) {
		return runs.LeaseLost.New("run %s is at epoch 3 with somebody else", h.RunID).With("epoch", 3)
	}
	return s.err
}

func (s *fakePlane) Claim(ctx context.Context, c execution.RelayClaim) (*execution.Grant, string, error) {
	if err := s.hear(ctx, nil, c); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	f := s.claim
	s.mu.Unlock()
	return f(ctx, c)
}

func (s *fakePlane) Beat(ctx context.Context, h execution.Leaseholder) (execution.RelayBeat, error) {
	return execution.RelayBeat{LeaseSeconds: 30, CancelRequested: true}, s.hear(ctx, &h, "beat")
}

func (s *fakePlane) Run(ctx context.Context, h execution.Leaseholder) (execution.RelayRun, error) {
	return run(), s.hear(ctx, &h, "run")
}

func (s *fakePlane) Save(ctx context.Context, h execution.Leaseholder, save execution.RelaySave) error {
	return s.hear(ctx, &h, save)
}

func (s *fakePlane) Divide(ctx context.Context, h execution.Leaseholder, d execution.RelayDivision) error {
	return s.hear(ctx, &h, d)
}

func (s *fakePlane) AppendLog(ctx context.Context, h execution.Leaseholder, c runs.LogChunk) (int64, error) {
	return c.Offset + int64(len(c.Data)), s.hear(ctx, &h, c)
}

func (s *fakePlane) AppendEvents(ctx context.Context, h execution.Leaseholder, events []runs.Event) (int64, error) {
	if len(events) > execution.RelayList {
		return 0, fault.BadField("events", "has more than %d", execution.RelayList)
	}
	return 4, s.hear(ctx, &h, events)
}

func (s *fakePlane) SaveHosts(ctx context.Context, h execution.Leaseholder, hosts []runs.HostSummary) error {
	return s.hear(ctx, &h, hosts)
}

func (s *fakePlane) SaveTasks(ctx context.Context, h execution.Leaseholder, tasks []runs.TaskSummary) error {
	return s.hear(ctx, &h, tasks)
}

func (s *fakePlane) SaveFacts(ctx context.Context, h execution.Leaseholder, facts []runs.HostFacts) error {
	return s.hear(ctx, &h, facts)
}

func (s *fakePlane) ProposeApply(ctx context.Context, h execution.Leaseholder, p runs.Plan) (string, error) {
	return "run_apply", s.hear(ctx, &h, p)
}

func (s *fakePlane) Inventory(ctx context.Context, h execution.Leaseholder) (execution.RelayInventory, error) {
	return execution.RelayInventory{Content: []byte("a\n"), Format: "ini",
			Warnings: []runs.Warning{{Code: runs.WarnInventoryStale, Message: "unreachable"}}},
		s.hear(ctx, &h, "inventory")
}

func (s *fakePlane) Project(ctx context.Context, h execution.Leaseholder, open func() (io.Writer, error)) error {
	if err := s.hear(ctx, &h, "project"); err != nil {
		return err
	}
	s.mu.Lock()
	f := s.project
	s.mu.Unlock()
	return f(ctx, open)
}

func (s *fakePlane) BeatWork(ctx context.Context, h execution.Leaseholder) (execution.RelayBeat, error) {
	return execution.RelayBeat{LeaseSeconds: 30}, s.hear(ctx, &h, "work beat")
}

func (s *fakePlane) WorkProject(ctx context.Context, h execution.Leaseholder, open func() (io.Writer, error)) error {
	return s.Project(ctx, h, open)
}

func (s *fakePlane) FinishWork(ctx context.Context, h execution.Leaseholder, r execution.RelayWorkResult) error {
	return s.hear(ctx, &h, r)
}

// errGone is an internal database error that clients must not receive.
var errGone = errors.New("SQLSTATE 08006 the database is gone")
