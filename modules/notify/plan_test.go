package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	module "github.com/writ-automation/writ/modules/notify"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	failedAlone   = "the target is notified only of failed runs"
	incidentAlone = "this kind is notified only of failed and interrupted runs"
)

// skipReason repeats the rule of the planner: it returns why a target of a kind is skipped for an event, or "".
func skipReason(kind string, onFailure bool, e notify.Event, s runs.Status) string {
	switch {
	case onFailure && (e != notify.Finished || s != runs.Failed):
		return failedAlone
	case kind == "pagerduty" && (e != notify.Finished || s != runs.Failed && s != runs.Interrupted):
		return incidentAlone
	}
	return ""
}

// TestWhoHears combines kinds, states, on_failure and events, for targets of runs and of the server.
func TestWhoHears(t *testing.T) {
	kinds := notify.Kinds()
	for _, serverOnFailure := range []bool{false, true} {
		t.Run(fmt.Sprint("server on failure ", serverOnFailure), func(t *testing.T) {
			eachEngine(t, func(p *module.Params) {
				p.Config.OnFailure = serverOnFailure
				for _, k := range kinds {
					p.Config.Server = append(p.Config.Server, target(k.Name))
				}
			}, func(t *testing.T, b *bundle) {
				var own []runs.Notification
				for _, k := range kinds {
					for _, onFailure := range []bool{false, true} {
						own = append(own, runs.Notification{Kind: k.Name, OnFailure: onFailure, URL: "https://hooks.example/***",
							Ref: "ntg_" + k.Name})
					}
				}
				check := func(e notify.Event, s runs.Status) {
					r := b.add(s, own)
					switch e {
					case notify.Held:
						b.owns(r)
					case notify.DriftFound:
						b.drifts(r, "msg_1")
					default:
						b.ends(r)
					}
					list := b.list(r)
					if len(list) != len(kinds)+len(own) {
						t.Fatalf("%s %s: %d deliveries", e, s, len(list))
					}
					for _, d := range list {
						onFailure := d.Target.OnFailure
						if d.Origin == notify.OfServer && onFailure != serverOnFailure {
							t.Errorf("the server's %s is %t", d.Kind, onFailure)
						}
						status, why := notify.Pending, skipReason(d.Kind, onFailure, e, s)
						if why != "" {
							status = notify.Skipped
						}
						if d.Status != status || d.Reason != why || d.Event != e || d.Attempts != 0 {
							t.Errorf("%s %s %s on_failure %t: %s %q, want %s %q", e, s, d.Kind, onFailure, d.Status, d.Reason, status, why)
						}
					}
				}
				check(notify.Held, runs.PendingApproval)
				for _, s := range []runs.Status{runs.Running, runs.Succeeded, runs.Failed} {
					check(notify.DriftFound, s)
				}
				for _, s := range []runs.Status{runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted, runs.Rejected} {
					check(notify.Finished, s)
				}
				if n := b.fixture.count["run slack skipped"]; n != 8 {
					t.Errorf("%d were counted as skipped: %v", n, b.fixture.count)
				}
			})
		})
	}
}

func secretOf(s string) secret.Text { return secret.Text(s) }

// target is a target of the server with every member that its kind requires.
func target(kind string) notify.Target {
	k, _ := notify.KindOf(kind)
	to := notify.Target{Kind: kind}
	for _, member := range k.Required {
		switch member {
		case "url":
			to.URL = secretOf("https://" + kind + ".example/S3CRET")
		case "key":
			to.Key = "S3CRETKEY"
		case "to":
			to.To = "a@example.org"
		}
	}
	return to
}

func TestWhatIsPlanned(t *testing.T) {
	eachEngine(t, func(p *module.Params) {
		p.Config.Server = []notify.Target{target("slack"), target("grafana"), target("slack")}
		p.Notifiers = map[string]extension.Notifier{"siem": nil, "audit": nil}
	}, func(t *testing.T, b *bundle) {
		r := b.add(runs.Failed, []runs.Notification{
			{Kind: "webhook", URL: "https://own.example/***", Key: "***", Ref: "ntg_1"}, {Kind: "email", To: "a@example.org"},
			{Kind: "slack", URL: "https://old.example/S3CRET", Key: "S3CRET"},
		})
		for range 3 {
			b.ends(r)
		}
		list := b.list(r)
		want := []notify.Delivery{
			{Origin: notify.OfServer, Kind: "slack", Target: runs.Notification{Kind: "slack", URL: "https://slack.example/***"}},
			{Origin: notify.OfServer, Position: 1, Kind: "grafana",
				Target: runs.Notification{Kind: "grafana", URL: "https://grafana.example/***", Key: "***"}},
			{Origin: notify.OfRun, Kind: "webhook",
				Target: runs.Notification{Kind: "webhook", URL: "https://own.example/***", Key: "***", Ref: "ntg_1"}},
			{Origin: notify.OfRun, Position: 1, Kind: "email", Target: runs.Notification{Kind: "email", To: "a@example.org"}},
			{Origin: notify.OfRun, Position: 2, Kind: "slack",
				Target: runs.Notification{Kind: "slack", URL: "https://old.example/***", Key: "***"}},
			{Origin: notify.OfExtension, Kind: "audit"}, {Origin: notify.OfExtension, Position: 1, Kind: "siem"},
		}
		lanes := map[string]bool{}
		for i := range list {
			if list[i].ID == "" || (list[i].Digest != "") != (list[i].Origin == notify.OfServer) ||
				strings.Contains(list[i].Digest, "S3CRET") {
				t.Errorf("%+v", list[i])
			}
			lanes[list[i].Lane()] = true
			list[i].ID, list[i].Digest = "", ""
			want[i].RunID, want[i].Event, want[i].Status = r.ID, notify.Finished, notify.Pending
		}
		same(t, "the plan", want, list)
		same(t, "every target for itself", len(want), len(lanes))
		held := b.add(runs.PendingApproval, r.Spec.Notifications)
		b.owns(held)
		if got := b.list(held); len(got) != 5 || got[4].Origin == notify.OfExtension {
			t.Errorf("a hold is told to %+v", got)
		}
	})
}

func TestNotPlanned(t *testing.T) {
	eachEngine(t, func(p *module.Params) { p.Config.Server = []notify.Target{target("slack")} },
		func(t *testing.T, b *bundle) {
			parent := b.add(runs.Failed, nil, func(r *runs.Run) {
				r.Kind, r.ShardCount, r.ShardHosts = runs.Split, 1, [][]string{{"a"}}
			})
			child := b.add(runs.Failed, nil, func(r *runs.Run) { r.Kind, r.ParentID = runs.Shard, parent.ID })
			b.ends(child)
			same(t, "of a child", 0, len(b.list(child)))
			b.ends(&runs.Run{ID: "run_none", Status: runs.Failed})
			b.owns(&runs.Run{ID: "run_none"})
			b.ends(parent)
			same(t, "of its parent", 1, len(b.list(parent)))
		})
}

// counted counts units of work.
type counted struct {
	tx.Unit
	n *atomic.Int64
}

func (c counted) Do(ctx context.Context, fn func(context.Context) error) error {
	c.n.Add(1)
	return c.Unit.Do(ctx, fn)
}

// read counts the runs that are read.
type read struct {
	runs.Store
	n *atomic.Int64
}

func (r read) ByID(ctx context.Context, id string) (*runs.Run, error) {
	r.n.Add(1)
	return r.Store.ByID(ctx, id)
}

// TestNobodyIsNotifiedForNothing: the end of a run without targets, as most are, costs no commit and no query.
func TestNobodyIsNotifiedForNothing(t *testing.T) {
	eachEngine(t, func(p *module.Params) {
		p.Unit, p.Runs = counted{p.Unit, new(atomic.Int64)}, read{p.Runs, new(atomic.Int64)}
	}, func(t *testing.T, b *bundle) {
		n := b.params.Unit.(counted).n
		b.ends(b.add(runs.Failed, nil))
		same(t, "units", int64(0), n.Load())
		same(t, "runs that are read", int64(0), b.params.Runs.(read).n.Load())
		b.ends(b.add(runs.Failed, []runs.Notification{{Kind: "slack", URL: "https://hooks.example/***", Ref: "ntg_1"}}))
		same(t, "units where somebody is told", int64(1), n.Load())
	})
}

// TestDriftIsPlanned plans once for each message, also for those of shards and steps, whose targets their parent has.
func TestDriftIsPlanned(t *testing.T) {
	eachEngine(t, func(p *module.Params) {
		p.Config.Server = []notify.Target{target("slack")}
		p.Notifiers = map[string]extension.Notifier{"siem": nil}
	}, func(t *testing.T, b *bundle) {
		parent := b.add(runs.Running, []runs.Notification{{Kind: "email", To: "a@example.org"}}, func(r *runs.Run) {
			r.Kind, r.ShardCount, r.ShardHosts = runs.Split, 2, [][]string{{"a"}, {"b"}}
		})
		shard := func(i int) *runs.Run {
			return b.add(runs.Succeeded, nil, func(r *runs.Run) { r.Kind, r.ParentID, r.ShardIndex = runs.Shard, parent.ID, i })
		}
		var group sync.WaitGroup
		for i := range 2 {
			r := shard(i)
			for range 5 {
				group.Go(func() { b.drifts(r, "msg_"+r.ID) })
			}
		}
		group.Wait()
		list := b.list(parent)
		if len(list) != 4 {
			t.Fatalf("%d deliveries: %+v", len(list), list)
		}
		for _, d := range list {
			if d.Event != notify.DriftFound || d.Status != notify.Pending || d.Drift == nil || d.Cause != "msg_"+d.Drift.RunID ||
				d.Drift.New != 3 || d.Drift.RunID == parent.ID {
				t.Errorf("%+v", d)
			}
		}
		b.drifts(&runs.Run{ID: "run_none"}, "msg_2")
		same(t, "the lost", 4, len(b.list(parent)))
	})
}

// TestPlannedAtOnce handles the same event many times concurrently.
func TestPlannedAtOnce(t *testing.T) {
	eachEngine(t, func(p *module.Params) {
		p.Config.Server = []notify.Target{target("slack"), target("pagerduty")}
	}, func(t *testing.T, b *bundle) {
		r := b.add(runs.Succeeded, nil)
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() { b.ends(r) })
		}
		group.Wait()
		same(t, "deliveries", 2, len(b.list(r)))
		same(t, "counted", map[string]int{"server pagerduty skipped": 1}, b.fixture.count)
	})
}

// away is a store that fails for a while.
type away struct {
	notify.Store
	mu    sync.Mutex
	times int
}

func (s *away) InsertDeliveries(ctx context.Context, list []notify.Delivery) (int, error) {
	s.mu.Lock()
	s.times--
	gone := s.times >= 0
	s.mu.Unlock()
	if gone {
		return 0, &fault.Error{Kind: fault.Unavailable, Message: "the database is away"}
	}
	return s.Store.InsertDeliveries(ctx, list)
}

func TestPlannedPatiently(t *testing.T) {
	eachEngine(t, func(p *module.Params) {
		p.Store, p.Config.Server = &away{Store: p.Store, times: 3}, []notify.Target{target("slack")}
	}, func(t *testing.T, b *bundle) {
		store, ok := b.params.Store.(*away)
		if !ok {
			t.Fatalf("%T", b.params.Store)
		}
		r := b.add(runs.Succeeded, nil)
		b.ends(r)
		same(t, "deliveries", 1, len(b.list(r)))
		store.mu.Lock()
		store.times = 1 << 20
		store.mu.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		raw, err := json.Marshal(runs.Finished{RunID: r.ID, Status: r.Status, TopLevel: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Finished.Handle(ctx, events.Message{Name: b.Finished.Event, Data: raw}); err == nil {
			t.Error("a message whose time is over is done with")
		}
	})
}
