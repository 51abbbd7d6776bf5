package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// The failures of the large run: so many hosts fail at one of two tasks or are unreachable.
const (
	badSyntax    = 9
	fullDisk     = 3
	outOfReach   = 5
	syntaxTask   = 34 // nginx : validate config
	unpackTask   = 41 // shop : unpack
	eventsAtOnce = 5000
)

// Unfinished is the large run. It has begun, and Finish executes it.
type Unfinished struct {
	Lease   runs.Lease
	next    int64
	started time.Time
	plane   runs.Worklist
	journal runs.Journal
}

// beginLarge begins the run of 60 tasks on 5,000 hosts.
func (s *Seeder) beginLarge(ctx context.Context) error {
	_, _, err := s.p.Submitter.Submit(s.as(ctx, mara), runs.Submission{Name: "Patch web fleet", Change: "CHG-4822",
		Labels: map[string]string{"env": "production", "network": "delivery"},
		Spec: runs.Spec{Tool: runs.Ansible, Playbook: "site.yml", InventoryID: s.inventory["delivery network"],
			ProjectID: s.project, Controls: runs.Controls{Forks: 500}}})
	if err != nil {
		return err
	}
	a, err := s.claim(ctx, runs.DefaultQueue)
	if err == nil {
		s.large = &Unfinished{a.Lease, a.NextSeq, s.clock.Now(), s.p.Worklist, s.p.Journal}
	}
	return err
}

// Finish executes the run. It holds the lease of the run meanwhile.
func (u *Unfinished) Finish(ctx context.Context) error {
	a := act{playbook: large(), hosts: network(), outcome: u.outcome(), pace: 600 * time.Millisecond, group: 500,
		quiet: 41, rng: newRandom("large")}
	r := newRecord(u.started)
	next := u.next
	for st := range a.steps() {
		r.add(st, next)
		next += int64(len(st.events))
		if len(r.events) < eventsAtOnce {
			continue
		}
		if err := u.store(ctx, r); err != nil {
			return err
		}
	}
	if err := u.plane.Finish(ctx, u.Lease, r.ending(runs.Failed, u.started)); err != nil {
		return fmt.Errorf("end the large run: %w", err)
	}
	return nil
}

// store sends the events that wait, and extends the lease.
func (u *Unfinished) store(ctx context.Context, r *record) error {
	if _, err := u.journal.AppendEvents(ctx, u.Lease, r.events); err != nil {
		return err
	}
	r.events = nil
	_, err := u.plane.Beat(ctx, u.Lease.Worker, []runs.Lease{u.Lease})
	return err
}

// outcome has two causes of failures, and hosts that change now and then.
func (u *Unfinished) outcome() func(h, t int) outcome {
	type cause struct {
		task int
		outcome
	}
	bad := map[int]cause{}
	for i := range badSyntax {
		bad[200+i*457] = cause{syntaxTask, failing(`nginx: [emerg] unknown directive "sssl_protocols" in ` +
			"/etc/nginx/tls.conf:14")}
	}
	for i := range fullDisk {
		bad[811+i*1391] = cause{unpackTask, failing("unpack: No space left on device: /srv/shop/releases/4.12.0")}
	}
	for i := range outOfReach {
		bad[77+i*911] = cause{[]int{0, 0, 16, 0, 34}[i], unreachable(timedOut)}
	}
	changes := map[int]bool{26: true, 35: true, 37: true, 41: true}
	return func(h, t int) outcome {
		c, is := bad[h]
		switch edge := h%5 == 4; {
		case is && t == c.task:
			return c.outcome
		case edge && t >= 38 && t < 49:
			return outcome{result: isSkipped}
		case !edge && changes[t], t == 28 && h%5 < 3, t == []int{3, 14, 29}[h%3] && h%17 == 0:
			return outcome{result: isChanged}
		}
		return outcome{}
	}
}
