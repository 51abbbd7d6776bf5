package demo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/events"
	portids "github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// TestIDs makes equal ids in two demos, in the order of their times, and others after the release.
func TestIDs(t *testing.T) {
	t.Parallel()
	var made [2][]string
	for n := range made {
		c := NewClock(clock.New())
		g := NewIDs(c, ids.New(c))
		for i := range 100 {
			c.Set(c.start.Add(time.Duration(i/2) * time.Hour))
			made[n] = append(made[n], g.New(portids.Run))
		}
		c.Release()
		made[n] = append(made[n], g.New(portids.Run))
	}
	for i, id := range made[0] {
		if !portids.Valid(portids.Run, id) || i > 0 && id <= made[0][i-1] {
			t.Errorf("%q follows %q", id, made[0][max(0, i-1)])
		}
		if same := id == made[1][i]; same != (i < 100) {
			t.Errorf("id %d: %q and %q", i, id, made[1][i])
		}
	}
}

// TestClock never runs back, and shows the time of day after the release.
func TestClock(t *testing.T) {
	t.Parallel()
	c := NewClock(clock.New())
	before := c.Now()
	c.Set(before.Add(-time.Hour))
	if !c.Now().Equal(before) {
		t.Error("it runs back")
	}
	c.Set(before.Add(time.Hour))
	if !c.Now().Equal(before.Add(time.Hour)) {
		t.Error("it does not go on")
	}
	c.Release()
	shown := c.Now()
	if d := clock.New().Now().Sub(shown); d < 0 || d > time.Minute {
		t.Errorf("it is %s late", d)
	}
}

// published collects events.
type published struct{ names []string }

func (p *published) Publish(_ context.Context, e events.Event) error {
	p.names = append(p.names, e.EventName())
	return nil
}

// TestPublisher gives kept events to their subscribers, and passes later ones on.
func TestPublisher(t *testing.T) {
	t.Parallel()
	real := &published{}
	p := NewPublisher().Over(real)
	var got []string
	on := events.On("x", func(_ context.Context, _ string, e runs.Reported) error {
		if got = append(got, e.RunID); e.RunID == "bad" {
			return errors.New("refused")
		}
		return nil
	})
	flush := func(id string) error {
		if err := errors.Join(p.Publish(t.Context(), runs.Reported{RunID: id}),
			p.Publish(t.Context(), runs.Started{RunID: id})); err != nil {
			t.Fatal(err)
		}
		return p.Flush(t.Context(), []events.Subscription{on})
	}
	if err := flush("good"); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if err := flush("bad"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the error of a subscriber: %v", err)
	}
	p.Release()
	if err := flush("late"); err != nil || len(real.names) != 2 || len(got) != 2 {
		t.Errorf("after the release: %v, %v, %v", real.names, got, err)
	}
}

// TestAct plays a playbook with every result, in which failed hosts do nothing more.
func TestAct(t *testing.T) {
	t.Parallel()
	b := playbooks()["certs.yml"]
	s := &Seeder{fleet: fleet(), playbooks: playbooks(), rng: newRandom("test")}
	x := s.playing("certs.yml", "edge-eu-000*", false, func(h, task int) outcome {
		switch {
		case h == 0 && task == 1:
			return failing("no space left")
		case h == 1 && task == 0:
			return unreachable(timedOut)
		case h == 2:
			return outcome{result: isSkipped}
		case task == 1:
			return outcome{result: isChanged, before: "old", after: "new"}
		}
		return outcome{}
	})
	start := epoch()
	r := newRecord(start)
	for st := range x.act.steps() {
		r.add(st, int64(len(r.events)+1))
	}
	e := r.ending(runs.Failed, start)
	want := runs.HostCounts{runs.HostFailed: 1, runs.HostUnreachable: 1, runs.HostSkipped: 1, runs.HostChanged: 6}
	if len(e.Hosts) != 9 || len(e.Tasks) != b.size() || len(e.Counts) != len(want) || *e.ExitCode != 2 {
		t.Errorf("%d hosts, %d tasks, %v, exit code %d", len(e.Hosts), len(e.Tasks), e.Counts, *e.ExitCode)
	}
	for k, n := range want {
		if e.Counts[k] != n {
			t.Errorf("%s: %d hosts, want %d", k, e.Counts[k], n)
		}
	}
	for i := range e.Events {
		if e.Events[i].Seq != int64(i+1) || e.Events[i].At.Before(start) {
			t.Errorf("event %d is %+v", i, e.Events[i])
		}
	}
	log := string(e.Log.Data)
	for _, part := range []string{"PLAY [Rotate certificates]", red + "fatal: [edge-eu-0001]: FAILED!", "UNREACHABLE!",
		yellow + "changed: [edge-eu-0004]", cyan + "skipping: [edge-eu-0003]", "+new", "PLAY RECAP"} {
		if !strings.Contains(log, part) {
			t.Errorf("the output lacks %q:\n%s", part, log)
		}
	}
}

// TestFleet has the promised hosts, in waves of updates.
func TestFleet(t *testing.T) {
	t.Parallel()
	hosts := fleet()
	if len(hosts) != Hosts || len(network()) != Large || large().size() != 60 {
		t.Errorf("%d hosts, %d in the network, %d tasks", len(hosts), len(network()), large().size())
	}
	if n := len(chosen(hosts, "web-eu-00*:db-ap-0001")); n != 41 {
		t.Errorf("a limit selects %d hosts", n)
	}
	drifts := (&Seeder{fleet: hosts, rng: newRandom("test")}).drifting()
	slices.Sort(drifts)
	if len(slices.Compact(drifts)) != Drifting || slices.ContainsFunc(drifts, unchecked) {
		t.Errorf("the hosts %v drift", drifts)
	}
	for i, h := range hosts {
		if first, last := waveOf(h, 0), waveOf(h, History); first != 0 || last != 2 {
			t.Errorf("%s begins with kernel %d and ends with %d", h, first, last)
		}
		if !strings.Contains(string(facts(h, i, History)), kernels()[2]) {
			t.Errorf("%s: %s", h, facts(h, i, History))
		}
	}
}
