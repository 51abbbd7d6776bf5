package runstest

import (
	"context"
	"slices"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

func hostCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"a claim asks for hosts":         hostsAsked,
		"runs exclude each other":        hostsExcluded,
		"hosts that are not known":       hostsUnknown,
		"a run without hosts":            hostsNone,
		"hosts are those of the claim":   hostsAgain,
		"hosts and locks":                hostsAndLocks,
		"exclusive and ordinary":         hostsOrdinary,
		"who is before an exclusive run": hostsBusy,
	}
}

func exclusive(r *runs.Run) { r.Spec.ExclusiveHosts = true }

type hostsOf map[string][]string

func (e *env) wantHosts(t *testing.T, hosts hostsOf, want *runs.Run) *runs.Assignment {
	t.Helper()
	a := e.nextWith(t, hosts)
	switch {
	case want == nil && a != nil:
		t.Fatalf("claimed %s", a.Run.ID)
	case want != nil && (a == nil || a.Run.ID != want.ID):
		t.Fatalf("claimed %+v, want %s", a, want.ID)
	}
	return a
}

func hostsAsked(t *testing.T, e *env) {
	p := e.add(t, pipelineOf(exclusive))
	step := e.add(t, below(p, runs.Step, 1))
	e.must(t, func(ctx context.Context) error {
		got, err := e.Queue.Claim(ctx, runs.ClaimRequest{Worker: "w", Queues: []string{"default"}}, ttl, epoch)
		if got.Assignment != nil || !got.Again || got.HostsOf == nil || got.HostsOf.ID != p.ID || got.HostsOf.Graph == nil {
			t.Errorf("%+v", got)
		}
		return err
	})
	e.wantHosts(t, hostsOf{p.ID: {"a"}}, step)
}

func hostsExcluded(t *testing.T, e *env) {
	one, two := e.add(t, exclusive), e.add(t, exclusive)
	three, four := e.add(t, exclusive), e.add(t, exclusive)
	hosts := hostsOf{one.ID: {"a", "b"}, two.ID: {"b", "c", "b"}, three.ID: {"c"}, four.ID: {"d"}}
	a := e.wantHosts(t, hosts, one)
	d := e.wantHosts(t, hosts, four) // the third one waits behind the second
	e.wantHosts(t, hosts, nil)
	e.done(t, d)
	e.wantHosts(t, hosts, nil)
	if opened := e.done(t, a); !slices.Equal(opened, []string{"default"}) {
		t.Errorf("opened %v", opened)
	}
	b := e.wantHosts(t, hosts, two)
	e.wantHosts(t, hosts, nil)
	e.done(t, b)
	e.wantHosts(t, hosts, three)
}

func hostsUnknown(t *testing.T, e *env) {
	known, unknown, later := e.add(t, exclusive), e.add(t, exclusive), e.add(t, exclusive)
	hosts := hostsOf{known.ID: {"a"}, later.ID: {"b"}}
	a := e.wantHosts(t, hosts, known)
	e.wantHosts(t, hosts, nil)
	e.done(t, a)
	b := e.wantHosts(t, hosts, unknown)
	e.wantHosts(t, hosts, nil)
	again := e.add(t, exclusive)
	e.wantHosts(t, hosts, nil)
	e.done(t, b)
	c := e.wantHosts(t, hosts, later)
	e.wantHosts(t, hosts, nil)
	e.done(t, c)
	e.wantHosts(t, hosts, again)
}

func hostsNone(t *testing.T, e *env) {
	one, two := e.add(t, exclusive), e.add(t, exclusive)
	hosts := hostsOf{one.ID: {}, two.ID: {}}
	e.wantHosts(t, hosts, one)
	e.wantHosts(t, hosts, two)
}

// hostsAgain changes the hosts of a run while it waits.
func hostsAgain(t *testing.T, e *env) {
	one, two, three := e.add(t, exclusive), e.add(t, exclusive), e.add(t, exclusive)
	hosts := hostsOf{one.ID: {"a"}, two.ID: {"a"}, three.ID: {"a", "b"}}
	a := e.wantHosts(t, hosts, one)
	e.wantHosts(t, hosts, nil)
	hosts[two.ID] = []string{"b"}
	e.done(t, a)
	b := e.wantHosts(t, hosts, two)
	e.wantHosts(t, hosts, nil)
	e.done(t, b)
	e.wantHosts(t, hosts, three)
}

func hostsAndLocks(t *testing.T, e *env) {
	one, two := e.add(t, exclusive, withLocks("x")), e.add(t, exclusive, withLocks("x"))
	plain := e.add(t, withLocks("x"))
	hosts := hostsOf{one.ID: {"a"}, two.ID: {"b"}}
	a := e.wantHosts(t, hosts, one)
	e.wantHosts(t, hosts, nil)
	e.done(t, a)
	b := e.wantHosts(t, hosts, two)
	e.wantHosts(t, hosts, nil)
	e.done(t, b)
	e.wantHosts(t, hosts, plain)
}

func hostsOrdinary(t *testing.T, e *env) {
	one, two := e.add(t, exclusive), e.add(t)
	e.wantHosts(t, nil, one)
	e.wantHosts(t, nil, two)
}

func hostsBusy(t *testing.T, e *env) {
	one, two, three := e.add(t, exclusive), e.add(t, exclusive), e.add(t, exclusive)
	hosts := hostsOf{one.ID: {"a"}, two.ID: {"a"}}
	e.wantHosts(t, hosts, one)
	e.wantHosts(t, hosts, nil)
	want := map[runs.SlotKey]runs.BusyKey{"host:a": {Key: "host:a", Limit: 1, Holders: []string{one.ID}}}
	if d := diff(want, e.busy(t, two)); d != "" {
		t.Errorf("the second:\n%s", d)
	}
	want = map[runs.SlotKey]runs.BusyKey{"hosts": {Key: "hosts", Limit: 1, Holders: []string{one.ID}, Ahead: 1,
		First: two.ID}}
	if d := diff(want, e.busy(t, three)); d != "" {
		t.Errorf("the third:\n%s", d)
	}
}
