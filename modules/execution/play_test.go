package execution_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	ports "github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// played sets an executor up with a playbook tool.
func played(t *testing.T, p *player) *bench {
	t.Helper()
	b := setup(t, echo)
	b.tools[runs.Ansible] = p
	return b
}

func playbook(id string) *runs.Run {
	return &runs.Run{ID: id, Spec: runs.Spec{Tool: runs.Ansible, Playbook: "site.yml", Inventory: "hosts",
		LimitHosts: []string{"a"}},
		Vars: runs.Vars{"vault_password": json.RawMessage(`"hunter22!"`)}}
}

func TestAPlay(t *testing.T) {
	t.Parallel()
	var asked ports.Play
	b := played(t, &player{play: func(_ context.Context, p ports.Play, sink func(runs.Event) error) (ports.PlayResult,
		error) {
		asked = p
		var err error
		for _, e := range []runs.Event{
			{Type: runs.EventPlayStarted, Play: "site"}, {Type: runs.EventTaskStarted, Play: "site", Task: "t", TaskID: "1"},
			{Type: runs.EventFacts, Host: "a", Facts: json.RawMessage(`{"k":"\u0068unter22!"}`)},
			{Type: runs.EventHostOK, Play: "site", Task: "t", TaskID: "1", Host: "a", Message: "pw hunter22!",
				Diff: json.RawMessage(`{"d":"hunter22!"}`)},
			{Type: runs.EventOutputs, Outputs: json.RawMessage(`{"o":1}`)},
			{Type: runs.EventFacts, Host: "b", Facts: json.RawMessage(`{"a":"part"}`), Truncated: true},
			{Type: runs.EventFacts, Host: "c", Facts: json.RawMessage(`"` + strings.Repeat("x", runs.MaxFacts-1) + `"`)},
			{Type: runs.EventStats, Stats: json.RawMessage(`{"a":{"ok":1},"b":{"unreachable":1}}`)},
		} {
			err = errors.Join(err, sink(e))
		}
		r := ports.PlayResult{Complete: true, Error: "because of hunter22!", Touched: 2,
			Warnings: []runs.Warning{{Code: "x", Message: "hunter22!"}}}
		r.ExitCode = 4
		return r, err
	}})
	got := b.run(playbook("run_1"))
	want := ports.Play{WorkDir: "/srv/play", Playbook: "site.yml", Inventory: "hosts", LimitHosts: []string{"a"},
		HostKeys: ports.HostKeys{File: asked.HostKeys.File}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Fatal(diff)
	}
	for i, e := range got.events {
		if e.Seq != int64(i+1) || e.At.IsZero() {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
	if e := got.events[3]; len(got.events) != 8 || e.Message != "pw ***" || string(e.Diff) != `{"d":"***"}` ||
		len(got.facts) != 1 || string(got.facts[0].Facts) != `{"k":"***"}` {
		t.Fatalf("the events are %+v", got.events)
	}
	if got.run.Status != runs.Failed || got.end.Error != "because of ***" || got.end.Touched != 2 ||
		string(got.end.Outputs["o"]) != "1" {
		t.Fatalf("ended as %+v", got.end)
	}
	if diff := cmp.Diff(runs.HostCounts{runs.HostOK: 1, runs.HostUnreachable: 1}, got.end.Counts); diff != "" ||
		len(got.hosts) != 2 || len(got.tasks) != 1 {
		t.Fatal(diff, got.hosts, got.tasks)
	}
	if diff := cmp.Diff([]runs.Warning{{Code: "x", Message: "***"},
		{Code: runs.WarnHostsUnreachable, Message: "1 hosts could not be reached"},
		{Code: runs.WarnFactsNotKept, Message: "facts larger than 1048576 bytes are not kept; readings: 2"}},
		got.end.Warnings); diff != "" {
		t.Fatal(diff)
	}
}

// flood sends n results over the given number of hosts.
func flood(n, hosts int) *player {
	return &player{play: func(_ context.Context, _ ports.Play, sink func(runs.Event) error) (ports.PlayResult, error) {
		for i := range n {
			if err := sink(runs.Event{Type: runs.EventHostOK, Task: "t", Host: fmt.Sprintf("h%d", i%hosts),
				DurationMS: 1}); err != nil {
				return ports.PlayResult{}, err
			}
		}
		return ports.PlayResult{Touched: hosts}, nil
	}}
}

func TestManyEventsArriveInOrderThroughAFailingPlane(t *testing.T) {
	t.Parallel()
	b := played(t, flood(30_000, 12_000))
	n := 0
	b.plane.fail(func(op, _ string) error {
		if op != "events" && op != "finish" && op != "hosts" {
			return nil
		}
		b.plane.mu.Lock()
		defer b.plane.mu.Unlock()
		if n++; n%5 == 2 {
			return errors.New("away")
		}
		return nil
	})
	got := b.run(playbook("run_1"))
	if got.run.Status != runs.Succeeded || len(got.events) != 30_000 || got.events[29_999].Host != "h5999" {
		t.Fatalf("ended as %s with %d events", got.run.Status, len(got.events))
	}
	if len(got.end.Hosts) != 0 || len(got.hosts) < 12_000 || b.plane.count("hosts") < 3 {
		t.Fatalf("%d hosts came in %d calls", len(got.hosts), b.plane.count("hosts"))
	}
}

func TestAFloodIsCapped(t *testing.T) {
	t.Parallel()
	b := played(t, flood(500, 3))
	b.config.MaxEvents = 100
	got := b.run(playbook("run_1"))
	if diff := cmp.Diff([]string{runs.WarnOutputFlood}, codes(got.end.Warnings)); diff != "" || len(got.events) != 100 ||
		got.hosts[0].OK != 167 {
		t.Fatal(diff, len(got.events), got.hosts)
	}
}

func TestNoHosts(t *testing.T) {
	t.Parallel()
	b := played(t, flood(0, 1))
	b.tools[runs.Ansible].(*player).play = func(context.Context, ports.Play, func(runs.Event) error) (ports.PlayResult,
		error) {
		return ports.PlayResult{Complete: true}, nil
	}
	got := b.run(playbook("run_1"))
	if diff := cmp.Diff([]string{runs.WarnNoHostsMatched}, codes(got.end.Warnings)); diff != "" ||
		got.run.Status != runs.Succeeded {
		t.Fatal(diff, got.run.Status)
	}
}

func splitOf(id string) *runs.Run {
	r := playbook(id)
	r.Kind = runs.Split
	return r
}

func TestSplits(t *testing.T) {
	t.Parallel()
	partly := []runs.Warning{{Code: runs.WarnLimitPartlyUnmatched, Message: "m"}}
	hosts := func(list []string, w []runs.Warning, err error) func(context.Context) ([]string, []runs.Warning, error) {
		return func(context.Context) ([]string, []runs.Warning, error) { return list, w, err }
	}
	t.Run("hosts", func(t *testing.T) {
		t.Parallel()
		b := played(t, &player{hosts: hosts([]string{"a", "b"}, partly, nil),
			survey: []runs.Warning{{Code: runs.WarnShardSemantics}}})
		b.plane.submit(splitOf("run_1"))
		_, stop := b.start()
		defer stop()
		b.until("the division", func() bool { return b.plane.see("run_1").shards != nil })
		got := b.plane.see("run_1")
		if diff := cmp.Diff([]string{runs.WarnLimitPartlyUnmatched, runs.WarnShardSemantics},
			codes(got.run.Warnings)); diff != "" || len(got.shards) != 2 {
			t.Fatal(diff, got.shards)
		}
		if b.plane.count("begin")+b.plane.count("finish") != 0 {
			t.Fatal("a split was begun or finished")
		}
	})
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		got := played(t, &player{hosts: hosts(nil, partly, nil)}).run(splitOf("run_1"))
		if diff := cmp.Diff([]string{runs.WarnLimitPartlyUnmatched, runs.WarnNoHostsMatched},
			codes(got.end.Warnings)); diff != "" || got.run.Status != runs.Succeeded {
			t.Fatal(diff, got.run.Status)
		}
	})
	t.Run("an error", func(t *testing.T) {
		t.Parallel()
		got := played(t, &player{hosts: hosts(nil, partly, errors.New("no hunter22! playbook"))}).run(splitOf("run_1"))
		if got.run.Status != runs.Failed || got.end.Error != "the hosts of the run could not be told: no *** playbook" {
			t.Fatalf("ended as %+v", got.end)
		}
	})
	t.Run("hosts that are refused", func(t *testing.T) {
		t.Parallel()
		b := played(t, &player{hosts: hosts([]string{"-hunter22!"}, partly, nil)})
		b.plane.fail(func(op, _ string) error {
			if op == "divide" {
				return fault.BadField("hosts[0]", "-hunter22! is not a host name")
			}
			return nil
		})
		got := b.run(splitOf("run_1"))
		if got.run.Status != runs.Failed || len(got.end.Warnings) != 1 ||
			got.end.Error != "the hosts of the run could not be told: hosts[0]: -*** is not a host name" {
			t.Fatalf("ended as %+v", got.end)
		}
	})
	t.Run("a tool without hosts", func(t *testing.T) {
		t.Parallel()
		r := splitOf("run_1")
		r.Spec.Tool = "sh"
		if got := setup(t, echo).run(r); got.run.Status != runs.Failed {
			t.Fatalf("ended as %+v", got.end)
		}
	})
	t.Run("a stop", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			asked := make(chan struct{})
			b := played(t, &player{hosts: func(ctx context.Context) ([]string, []runs.Warning, error) {
				close(asked)
				<-ctx.Done()
				return nil, nil, ctx.Err()
			}})
			b.plane.submit(splitOf("run_1"))
			_, stop := b.start()
			<-asked
			stop()
			if got := b.plane.see("run_1"); got.run.Status != runs.Pending {
				t.Fatalf("the split is %s", got.run.Status)
			}
		})
	})
}
