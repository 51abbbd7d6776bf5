package demo

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// makePresent makes the last hours: a run of each state.
func (s *Seeder) makePresent(ctx context.Context) error {
	for _, x := range []slot{
		{170 * time.Minute, s.unserved, false}, {160 * time.Minute, s.split, true},
		{150 * time.Minute, s.heldCertificates, true},
		{145 * time.Minute, s.heldDrill, true}, {120 * time.Minute, s.canceled, false},
		{100 * time.Minute, s.rejected, true}, {80 * time.Minute, s.interrupted, false},
		{50 * time.Minute, s.delivery, false}, {40 * time.Minute, s.fire, false},
		{26 * time.Minute, s.beginLarge, false}, {3 * time.Minute, s.running, true},
	} {
		s.at(History - x.at)
		make := x.make
		if !x.held {
			make = func(ctx context.Context) error { return s.unit(ctx, x.make) }
		}
		if err := make(ctx); err != nil {
			return err
		}
	}
	return nil
}

// unserved leaves a run in a queue that no worker serves.
func (s *Seeder) unserved(ctx context.Context) error {
	_, err := s.launch(ctx, mara, "Flush edge cache", catalog.Launch{})
	return err
}

// split performs a split of which one shard fails.
func (s *Seeder) split(ctx context.Context) error {
	_, _, err := s.p.Submitter.Submit(s.as(ctx, mara), runs.Submission{Name: "Patch web servers in four parts",
		Labels: map[string]string{"env": "production"}, Change: "CHG-4822",
		Spec: runs.Spec{Tool: runs.Ansible, Playbook: "patch.yml", InventoryID: s.inventory["production"],
			ProjectID: s.project, Shards: 4, Controls: runs.Controls{Limit: "web*"}}})
	if err != nil {
		return err
	}
	a, err := s.take(ctx, runs.DefaultQueue)
	if err != nil {
		return err
	}
	if err := s.p.Worklist.Divide(ctx, a.Lease, chosen(s.fleet, "web*"), nil); err != nil {
		return err
	}
	for n := range 4 {
		a, err := s.claim(ctx, runs.DefaultQueue)
		if err != nil {
			return err
		}
		host := -1
		if n == 2 {
			host = 7
		}
		x := s.playing("patch.yml", "", false, unlucky([]int{2, 3}, host, 3,
			failing("Unable to restart service nginx: unknown directive \"sssl_protocols\" in /etc/nginx/tls.conf:14")))
		x.act.hosts = a.Run.Spec.LimitHosts
		if err := s.finish(ctx, a, x); err != nil {
			return err
		}
	}
	return nil
}

// heldCertificates leaves a held run with what its dry run found.
func (s *Seeder) heldCertificates(ctx context.Context) error {
	change := "CHG-4823"
	r, err := s.launch(ctx, mara, "Rotate certificates", catalog.Launch{Change: &change})
	if err != nil {
		return err
	}
	if _, _, err = s.p.Controller.Preview(s.as(ctx, mara), r.ID); err != nil {
		return err
	}
	_, err = s.perform(ctx, s.playing("certs.yml", "edge*", true, func(h, t int) outcome {
		if t == 1 && expiring(h) {
			return outcome{result: isChanged, before: "notAfter=in 12 days", after: "notAfter=in 90 days"}
		}
		return outcome{}
	}))
	return err
}

// heldDrill leaves a held run with the first of two approvals.
func (s *Seeder) heldDrill(ctx context.Context) error {
	r, err := s.launch(ctx, mara, "Database failover drill", catalog.Launch{})
	if err != nil {
		return err
	}
	return s.approve(ctx, ines, r.ID, "the replicas are in sync")
}

func (s *Seeder) canceled(ctx context.Context) error {
	if _, err := s.launch(ctx, tom, "Clean images", catalog.Launch{}); err != nil {
		return err
	}
	a, err := s.claim(ctx, runs.DefaultQueue)
	if err != nil {
		return err
	}
	s.clock.Set(s.clock.Now().Add(12 * time.Second))
	if _, err := s.p.Controller.Cancel(s.as(ctx, tom), a.Run.ID); err != nil {
		return err
	}
	return s.finish(ctx, a, performance{status: runs.Canceled, took: time.Second,
		lines: []string{"Deleted: sha256:9f14c02a"}})
}

func (s *Seeder) rejected(ctx context.Context) error {
	r, err := s.launch(ctx, mara, "Open firewall for metrics", catalog.Launch{})
	if err != nil {
		return err
	}
	s.refused = r.ID
	s.clock.Set(s.clock.Now().Add(9 * time.Minute))
	_, err = s.p.Approver.Reject(s.as(ctx, ada), r.ID, runs.DecisionInput{Reason: "open it for the collectors alone"})
	return err
}

func (s *Seeder) interrupted(ctx context.Context) error {
	if _, err := s.launch(ctx, ines, "Reindex search", catalog.Launch{}); err != nil {
		return err
	}
	_, err := s.perform(ctx, performance{status: runs.Interrupted, took: 50 * time.Second,
		lines: []string{"indexed 311 204 documents"}, reason: "the worker was lost and its lease ended"})
	return err
}

// delivery receives a push from a forge.
func (s *Seeder) delivery(ctx context.Context) error {
	body := []byte(`{"ref":"refs/heads/main","after":"8c1e2f6d0b7a4c39a5e4f1d2b3c4d5e6f7a8b9c0",` +
		`"repository":{"full_name":"shop/api"},"pusher":{"name":"tomas.ek"}}`)
	mac := hmac.New(sha256.New, []byte(s.trigger.SigningSecret.Reveal()))
	_, _ = mac.Write(body) // it never fails
	d := scheduling.Delivery{Token: s.trigger.Token.Reveal(), Body: body, Header: http.Header{
		"X-Github-Event": {"push"}, "X-Github-Delivery": {"3f0e6f5e-demo"}, "Content-Type": {"application/json"},
		"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}}
	if _, err := s.p.Hooks.Deliver(ctx, d); err != nil {
		return fmt.Errorf("deliver a push: %w", err)
	}
	_, err := s.perform(ctx, s.playing("api.yml", "api*", false, unlucky([]int{0, 1, 2, 4}, -1, 0, outcome{})))
	return err
}

// fire records the last slot of each schedule and plans the next one. The runs of the slots exist.
func (s *Seeder) fire(ctx context.Context) error {
	for _, t := range presetsOfSchedules() {
		x := s.schedules[t]
		p, err := s.p.Planner.Preview(x.Cron, x.Timezone, 1)
		if err != nil {
			return err
		}
		run := s.fired[t]
		if run == nil || len(p.Next) == 0 {
			continue
		}
		slot := run.CreatedAt.Truncate(time.Minute)
		if _, err := s.p.Slots.Advance(ctx, x.ID, x.NextRunAt, p.Next[0], slot, time.Minute); err != nil {
			return err
		}
		if err := s.p.Slots.Settle(ctx, x.ID, slot, run.ID, ""); err != nil {
			return err
		}
	}
	return nil
}

func presetsOfSchedules() []string {
	return []string{"Collect disk report", "Baseline, dry run", "Patch web servers", "Sync users"}
}

// running leaves a workflow under way: the executor of the demo goes on with it.
func (s *Seeder) running(ctx context.Context) error {
	change := "CHG-4824"
	if _, err := s.launch(ctx, mara, "Release shop", catalog.Launch{Change: &change}); err != nil {
		return err
	}
	for range []string{"check", "build"} {
		if _, err := s.perform(ctx, s.script(nil)); err != nil {
			return err
		}
	}
	_, err := s.perform(ctx, performance{status: runs.Failed, reason: "exit code 1: the cache did not answer",
		took: 9 * time.Second, lines: []string{"warming 3 regions", "\x1b[31mConnectionRefusedError: cache-eu:6379\x1b[0m"}})
	return err
}
