package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
)

// The times of scheduled runs since the beginning of the history. Weekly ones repeat every seven days.
const (
	diskAt     = 21 * time.Hour
	baselineAt = 5*day + 10*time.Hour
	patchAt    = 3*day + 12*time.Hour
	usersAt    = 18 * time.Hour
)

// slot is a time since the beginning of the history, and what happens then.
type slot struct {
	at   time.Duration
	make func(ctx context.Context) error
	// held says that the slot needs units of its own: a held run is tried again, and a parent reads what they stored.
	held bool
}

// slotsPerUnit bounds how much history one unit of work makes, which has a bound of time.
const slotsPerUnit = 4

// makeHistory makes everything but the last hours.
func (s *Seeder) makeHistory(ctx context.Context) error {
	list := s.slots()
	slices.SortStableFunc(list, func(a, b slot) int { return int(a.at - b.at) })
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(x slot) bool { return x.held })
		if n < 0 {
			n = len(list)
		}
		n = min(n, slotsPerUnit)
		var err error
		if n == 0 {
			n, err = 1, s.play(ctx, list[:1])
		} else {
			err = s.unit(ctx, func(ctx context.Context) error { return s.play(ctx, list[:n]) })
		}
		if err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func (s *Seeder) play(ctx context.Context, list []slot) error {
	for _, x := range list {
		s.at(x.at)
		if err := x.make(ctx); err != nil {
			return err
		}
	}
	return nil
}

// at sets the clock to a time since the beginning of the history.
func (s *Seeder) at(since time.Duration) { s.clock.Set(s.now.Add(since - History)) }

// slots lists what happens in the history.
func (s *Seeder) slots() []slot {
	var list []slot
	add := func(at time.Duration, fn func(context.Context) error) { list = append(list, slot{at: at, make: fn}) }
	hold := func(at time.Duration, fn func(context.Context) error) { list = append(list, slot{at, fn, true}) }
	days := int(History / day)
	for d := range days {
		at := time.Duration(d) * day
		add(at+diskAt, s.diskReport)
		if d%7 < 5 {
			add(at+11*time.Hour, s.deploy(runs.FromTrigger, d))
		}
		if d%7 == 0 {
			add(at+usersAt, s.scheduled("Sync users", s.users))
		}
		if d%6 == 1 && d < days-1 {
			add(at+15*time.Hour, s.deploy(runs.FromTemplate, d))
		}
		if d%30 == 16 || d == days-2 {
			add(at+16*time.Hour, s.gathering)
		}
		switch d % 7 {
		case 2:
			if d/7%3 == 2 {
				hold(at+14*time.Hour, s.certificates)
			}
		case 3:
			for n, region := range regions() {
				if d < 70 && n != d/7%3 {
					continue // one region a week at first
				}
				add(at+patchAt-3*day+time.Duration(n)*time.Hour, s.patch(region, d/7))
			}
		case 5:
			if d/7%2 != 0 {
				continue
			}
			add(at+baselineAt-5*day, s.baseline(d == days-1))
		case 6:
			add(at+17*time.Hour, s.restore)
		}
	}
	hold(40*day+9*time.Hour, s.decided("Database failover drill", "drill.yml", true))
	hold(33*day+9*time.Hour, s.decided("Open firewall for metrics", "firewall.yml", true))
	hold(70*day+9*time.Hour, s.decided("Open firewall for metrics", "firewall.yml", false))
	add(50*day+13*time.Hour, s.reindex)
	for _, d := range []int{28, 70, 84} {
		hold(time.Duration(d)*day+13*time.Hour, s.release)
	}
	return list
}

// launch launches a template.
func (s *Seeder) launch(ctx context.Context, who, template string, l catalog.Launch) (*runs.Run, error) {
	r, _, err := s.p.Launcher.Launch(s.as(ctx, who), s.templates[template].ID, l)
	if err != nil {
		return nil, fmt.Errorf("launch %s: %w", template, err)
	}
	if l.Source == runs.FromSchedule {
		s.fired[template] = r
	}
	return r, nil
}

// scheduled launches the template of a schedule and performs its run.
func (s *Seeder) scheduled(template string, x func() performance) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.launch(ctx, ada, template, catalog.Launch{Source: runs.FromSchedule, By: s.schedules[template].ID})
		if err == nil {
			_, err = s.perform(ctx, x())
		}
		return err
	}
}

// playing returns an execution of a playbook on the hosts of a limit.
func (s *Seeder) playing(file, limit string, dry bool, outcome func(host, task int) outcome) performance {
	return performance{act: &act{playbook: s.playbooks[file], hosts: chosen(s.fleet, limit), dryRun: dry, outcome: outcome,
		pace: 1500 * time.Millisecond, group: 20, rng: s.rng}}
}

// unlucky returns an outcome in which some tasks change hosts and one host fails at a task; without a host none fails.
func unlucky(changes []int, host, task int, what outcome) func(int, int) outcome {
	return func(h, t int) outcome {
		switch {
		case h == host && t == task:
			return what
		case slices.Contains(changes, t):
			return outcome{result: isChanged}
		default:
			return outcome{}
		}
	}
}

func failing(message string) outcome     { return outcome{result: isFailed, message: message} }
func unreachable(message string) outcome { return outcome{result: isUnreachable, message: message} }

const timedOut = "Failed to connect to the host via ssh: connection timed out"

func (s *Seeder) users() performance {
	return s.playing("users.yml", "db*", false, unlucky([]int{2}, -1, 0, outcome{}))
}

func (s *Seeder) diskReport(ctx context.Context) error {
	return s.scheduled("Collect disk report", func() performance {
		return performance{took: 4 * time.Second, lines: diskLines(s.rng.IntN(30))}
	})(ctx)
}

func diskLines(used int) []string {
	return []string{"Filesystem      Size  Used Avail Use% Mounted on",
		fmt.Sprintf("/dev/sda1        80G   %2dG   %2dG  \x1b[33m%d%%\x1b[0m /", 30+used, 50-used, (30+used)*100/80),
		"/dev/sdb1       400G  212G  188G  \x1b[32m53%\x1b[0m /srv", "tmpfs           7.8G     0  7.8G   0% /dev/shm"}
}

// deploy deploys a release to a region. Every ninth one fails on a host.
func (s *Seeder) deploy(source runs.Source, d int) func(context.Context) error {
	return func(ctx context.Context) error {
		limit := "api-" + regions()[d%3] + "-001*"
		l := catalog.Launch{Source: source, Answers: map[string]any{"release": fmt.Sprintf("4.%d.%d", d/12, d%12)},
			Limit: &limit}
		who := mara
		if source == runs.FromTrigger {
			l.By, who = s.trigger.ID, ada
		}
		if _, err := s.launch(ctx, who, "Deploy api", l); err != nil {
			return err
		}
		host := -1
		if s.rng.IntN(9) == 0 {
			host = s.rng.IntN(10)
		}
		_, err := s.perform(ctx, s.playing("api.yml", limit, false,
			unlucky([]int{0, 1, 2, 4}, host, 5, failing("Status code was 502 and not [200]: http://127.0.0.1:8080/health"))))
		return err
	}
}

func (s *Seeder) gathering(ctx context.Context) error {
	if _, err := s.launch(ctx, mara, "Gather facts", catalog.Launch{}); err != nil {
		return err
	}
	x := s.playing("facts.yml", "", false, alwaysOK)
	x.facts = true
	_, err := s.perform(ctx, x)
	return err
}

// patch patches the web servers of a region, under the change of the week.
func (s *Seeder) patch(region string, week int) func(context.Context) error {
	return func(ctx context.Context) error {
		limit, change := "web-"+region+"*", fmt.Sprintf("CHG-%d", 4810+week)
		_, err := s.launch(ctx, ada, "Patch web servers", catalog.Launch{Source: runs.FromSchedule,
			By: s.schedules["Patch web servers"].ID, Limit: &limit, Change: &change})
		if err != nil {
			return err
		}
		host := -1
		if s.rng.IntN(4) == 0 {
			host = s.rng.IntN(40)
		}
		_, err = s.perform(ctx, s.playing("patch.yml", limit, false, unlucky([]int{2, 3}, host, 0, unreachable(timedOut))))
		return err
	}
}

// baseline compares the whole fleet with the baseline. The last comparison finds drift.
func (s *Seeder) baseline(last bool) func(context.Context) error {
	return s.scheduled("Baseline, dry run", func() performance {
		var drifts []int
		if last {
			drifts = s.drifting()
		}
		return s.playing("baseline.yml", "", true, func(h, t int) outcome {
			switch n := slices.Index(drifts, h); {
			case t == 0 && unchecked(h):
				return unreachable(timedOut)
			case n < 0:
			case t == 1 && n%3 == 0:
				return outcome{result: isChanged, before: "server 192.0.2.7", after: "server ntp.example.com"}
			case t == 2 && n%3 == 1:
				return outcome{result: isChanged, before: "vm.max_map_count = 65530", after: "vm.max_map_count = 262144"}
			case t == 4 && n%3 != 1:
				return outcome{result: isChanged, before: "PermitRootLogin yes", after: "PermitRootLogin no"}
			}
			return outcome{}
		})
	})
}

// certificates rotates certificates, with the approval of another person.
func (s *Seeder) certificates(ctx context.Context) error {
	r, err := s.launch(ctx, mara, "Rotate certificates", catalog.Launch{})
	if err != nil {
		return err
	}
	if err := s.approve(ctx, ines, r.ID, "looked at the hosts"); err != nil {
		return err
	}
	_, err = s.perform(ctx, s.playing("certs.yml", "edge*", false, unlucky([]int{0, 1, 3}, -1, 0, outcome{})))
	return err
}

func (s *Seeder) approve(ctx context.Context, who, run, reason string) error {
	s.clock.Set(s.clock.Now().Add(17 * time.Minute))
	_, err := s.p.Approver.Approve(s.as(ctx, who), run, runs.DecisionInput{Reason: reason})
	return err
}

// decided launches a template that two people decide about.
func (s *Seeder) decided(template, file string, approved bool) func(context.Context) error {
	return func(ctx context.Context) error {
		change := "CHG-" + strings.ToUpper(file[:1]) + "77"
		r, err := s.launch(ctx, mara, template, catalog.Launch{Change: &change})
		if err != nil {
			return err
		}
		if !approved {
			s.clock.Set(s.clock.Now().Add(time.Hour))
			_, err := s.p.Approver.Reject(s.as(ctx, ines), r.ID, runs.DecisionInput{Reason: "not during the sale"})
			return err
		}
		for _, who := range []string{ines, ada} {
			if err := s.approve(ctx, who, r.ID, "fine"); err != nil {
				return err
			}
		}
		_, err = s.perform(ctx, s.playing(file, s.templates[template].Limit, false,
			unlucky([]int{1, 2}, -1, 0, outcome{})))
		return err
	}
}

func (s *Seeder) restore(ctx context.Context) error {
	if _, err := s.launch(ctx, mara, "Restore staging", catalog.Launch{}); err != nil {
		return err
	}
	x := performance{took: 90 * time.Second,
		lines: []string{"looking for the latest backup", "found 2.3 GiB", "restored"}}
	if s.rng.IntN(5) == 0 {
		x.status, x.reason = runs.Failed, "exit code 3: no backup newer than 24 h"
		x.lines = []string{"looking for the latest backup", "\x1b[31merror: no backup newer than 24 h\x1b[0m"}
	}
	_, err := s.perform(ctx, x)
	return err
}

func (s *Seeder) reindex(ctx context.Context) error {
	if _, err := s.launch(ctx, ines, "Reindex search", catalog.Launch{}); err != nil {
		return err
	}
	_, err := s.perform(ctx, performance{took: 40 * time.Second, lines: []string{"indexed 1 204 311 documents"}})
	return err
}

// release performs the whole workflow.
func (s *Seeder) release(ctx context.Context) error {
	r, err := s.launch(ctx, mara, "Release shop", catalog.Launch{})
	if err != nil {
		return err
	}
	for range []string{"check", "build"} {
		if _, err := s.perform(ctx, s.script(nil)); err != nil {
			return err
		}
	}
	held, err := s.stepOf(ctx, r.ID, "deploy ap")
	if err == nil {
		err = s.approve(ctx, ines, held, "the build is green")
	}
	for n := 0; err == nil && n < 5; n++ { // warm cache, the three regions and the smoke test
		var a *runs.Assignment
		if a, err = s.claim(ctx, runs.DefaultQueue); err == nil {
			err = s.finish(ctx, a, s.script(a.Run))
		}
	}
	return err
}

// script is a short execution of a step.
func (s *Seeder) script(r *runs.Run) performance {
	if r != nil && r.Spec.Playbook != "" {
		return s.playing(r.Spec.Playbook, r.Spec.Limit, false, unlucky([]int{0, 1, 4}, -1, 0, outcome{}))
	}
	return performance{took: 20 * time.Second,
		lines: []string{"make: entering directory", "\x1b[32mok\x1b[0m 214 checks"}}
}
