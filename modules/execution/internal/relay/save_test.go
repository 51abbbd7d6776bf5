package relay_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// TestSavesThatAreNone checks that the error names the member, and that the run does not change.
func TestSavesThatAreNone(t *testing.T) {
	t.Parallel()
	w := one(t)
	_, h := w.begun()
	before := w.picture()
	code, early := 1<<40, time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC)
	end := func(edit func(s *execution.RelaySave)) execution.RelaySave {
		s := ends(runs.Succeeded)
		edit(&s)
		return s
	}
	hostKey := func(host, kind, fingerprint string) execution.RelaySave {
		return end(func(s *execution.RelaySave) {
			s.HostKeys = []runs.HostKey{{Host: host, Type: kind, Fingerprint: fingerprint}}
		})
	}
	sum := "SHA256:" + strings.Repeat("A", 43)
	for _, c := range []struct {
		field string
		save  execution.RelaySave
	}{
		{"status", ends("held")}, {"status", ends("")}, {"status", ends(runs.Rejected)},
		{"status", ends(runs.PendingApproval)},
		{"exit_code", end(func(s *execution.RelaySave) { s.ExitCode = &code })},
		{"log_bytes", end(func(s *execution.RelaySave) { s.LogBytes = -1 })},
		{"log_sha256", end(func(s *execution.RelaySave) { s.LogSHA256 = "zz" })},
		{"tool_version", end(func(s *execution.RelaySave) { s.Version = "2.14\n" })},
		{"tool_version", end(func(s *execution.RelaySave) { s.Version = strings.Repeat("1", 65) })},
		{"log_sha256", end(func(s *execution.RelaySave) { s.LogSHA256 = strings.Repeat("A", 64) })},
		{"warnings", end(func(s *execution.RelaySave) { s.Warnings = make([]runs.Warning, 101) })},
		{"warnings[0].code", end(func(s *execution.RelaySave) { s.Warnings = []runs.Warning{{Code: "A b"}} })},
		{"started_at", end(func(s *execution.RelaySave) { s.StartedAt = &early })},
		{"ended_at", end(func(s *execution.RelaySave) { s.EndedAt = &early })},
		{"outputs", end(func(s *execution.RelaySave) {
			s.Outputs = runs.Vars{"a": []byte(`"` + strings.Repeat("x", 4<<20) + `"`)}
		})},
		{"outputs", end(func(s *execution.RelaySave) { s.Outputs = runs.Vars{"a": []byte(`{`)} })},
		{"accepted_host_keys", end(func(s *execution.RelaySave) { s.HostKeys = make([]runs.HostKey, runs.MaxHostKeys+1) })},
		{"accepted_host_keys[0]", hostKey("", "ssh-ed25519", sum)},
		{"accepted_host_keys[0]", hostKey("a b", "ssh-ed25519", sum)},
		{"accepted_host_keys[0]", hostKey(strings.Repeat("a", 301), "ssh-ed25519", sum)},
		{"accepted_host_keys[0]", hostKey("a", "SSH ED", sum)},
		{"accepted_host_keys[0]", hostKey("a", "ssh-ed25519", "MD5:00:11")},
		{"accepted_host_keys[0]", hostKey("a", "ssh-ed25519", sum+"A")},
	} {
		err := w.relay.Save(t.Context(), h, c.save)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Fields[0].Location != c.field {
			t.Errorf("%s: %v", c.field, err)
		}
	}
	if after := w.picture(); after != before {
		t.Errorf("something changed:\n%s\nwas\n%s", after, before)
	}
}

// TestTheServerCounts checks that a run's results on its hosts are computed from the stored ones, and that its commit
// does not change.
// Keeps T04.
func TestTheServerCounts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		ctx := t.Context()
		_, h := w.begun(func(r *runs.Run) { r.Spec.Playbook, r.Spec.ProjectID, r.Commit = "site.yml", "prj_1", "c0ffee" })
		w.must(w.relay.SaveHosts(ctx, h, []runs.HostSummary{
			{Host: "a", OK: 1, Worst: runs.HostOK}, {Host: "b", OK: 1, Failed: 1, Worst: runs.HostFailed},
			{Host: "c", Worst: runs.HostIncomplete},
			{Host: "d", Worst: runs.HostSkipped},
		}))
		code := 2
		started := now().Add(-time.Minute)
		w.must(w.relay.Save(ctx, h, execution.RelaySave{
			Status: runs.Failed, ExitCode: &code, Error: "two failed", Commit: strings.Repeat("f", 40), StartedAt: &started,
			Outputs: runs.Vars{"n": []byte("1.50")}, Warnings: []runs.Warning{{Code: runs.WarnHostsUnreachable, Message: "m"}},
		}))
		r := w.run(h.RunID)
		want := runs.HostCounts{runs.HostOK: 1, runs.HostFailed: 1, runs.HostIncomplete: 1, runs.HostSkipped: 1}
		if diff := cmp.Diff(want, r.Hosts); diff != "" || r.HostsTouched != 3 {
			t.Errorf("%d touched, counts %s", r.HostsTouched, diff)
		}
		if r.Commit != "c0ffee" || r.Status != runs.Failed || *r.ExitCode != 2 || r.Error != "two failed" ||
			string(r.Outputs["n"]) != "1.50" || len(r.Warnings) != 1 {
			t.Errorf("%+v", r)
		}
		_, bare := w.begun()
		w.must(w.relay.Save(ctx, bare, execution.RelaySave{Status: runs.Succeeded, Commit: strings.Repeat("f", 40)}))
		if r := w.run(bare.RunID); r.Commit != "" || r.Hosts != nil || r.HostsTouched != 0 || len(r.Warnings) != 0 {
			t.Errorf("%+v", r)
		}
		w.vault.mu.Lock()
		w.vault.warnings = []string{"it was not renewed"}
		w.vault.mu.Unlock()
		_, warned := w.begun()
		w.must(w.relay.Save(ctx, warned, execution.RelaySave{Status: runs.Succeeded}))
		if list := w.run(warned.RunID).Warnings; len(list) != 1 || list[0].Code != runs.WarnSecretNotRenewed ||
			list[0].Message != "it was not renewed" {
			t.Errorf("%+v", list)
		}
	})
}

// TestLongTextsAreCut where executors cut them, between two characters.
func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	w := one(t)
	_, h := w.begun()
	long := "x" + strings.Repeat("ä", 4<<10)
	w.must(w.relay.Save(t.Context(), h, execution.RelaySave{
		Status: runs.Failed, Error: long, Warnings: []runs.Warning{{Code: "w", Message: long}, {Code: "v", Message: "\xff"}},
	}))
	r := w.run(h.RunID)
	for _, s := range []string{r.Error, r.Warnings[0].Message} {
		if len(s) != 4<<10-1 || !utf8.ValidString(s) {
			t.Errorf("%d bytes are kept", len(s))
		}
	}
	if r.Warnings[1].Message != "\uFFFD" {
		t.Errorf("%q", r.Warnings[1].Message)
	}
}

// TestBadDivisions name the wrong member and change nothing.
func TestBadDivisions(t *testing.T) {
	t.Parallel()
	w := one(t)
	_, h := w.begun()
	before := w.picture()
	for _, c := range []struct {
		field string
		d     execution.RelayDivision
	}{
		{"hosts", execution.RelayDivision{}},
		{"hosts", execution.RelayDivision{Hosts: make([]string, execution.RelayHosts+1)}},
		{"hosts[1]", execution.RelayDivision{Hosts: []string{"a", "-i"}}},
		{"hosts[0]", execution.RelayDivision{Hosts: []string{"a\n"}}},
		{"warnings", execution.RelayDivision{Hosts: []string{"a"}, Warnings: make([]runs.Warning, 101)}},
		{"warnings[0].code", execution.RelayDivision{Hosts: []string{"a"}, Warnings: []runs.Warning{{Code: "A b"}}}},
		{"hosts", execution.RelayDivision{Hosts: []string{"a"}}}, // it is no split
	} {
		err := w.relay.Divide(t.Context(), h, c.d)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Fields[0].Location != c.field {
			t.Errorf("%s: %v", c.field, err)
		}
	}
	if after := w.picture(); after != before {
		t.Errorf("%s\n%s", before, after)
	}
}

// TestASplitIsDivided once, with what its worker warns of.
func TestASplitIsDivided(t *testing.T) {
	t.Parallel()
	w := one(t)
	w.submit(func(r *runs.Run) { r.Kind, r.Spec.Playbook, r.Spec.Shards = runs.Split, "site.yml", 2 })
	_, h := w.claim("w")
	s := execution.RelayDivision{Hosts: []string{"a", "b"},
		Warnings: []runs.Warning{{Code: runs.WarnShardSemantics, Message: "m"}}}
	w.must(w.relay.Divide(t.Context(), h, s))
	if err := w.relay.Divide(t.Context(), h, s); !runs.LeaseLost.Is(err) {
		t.Errorf("again: %v", err)
	}
	if r := w.run(h.RunID); !cmp.Equal(w.plane.splits[h.RunID], []string{"a", "b"}) || len(r.Warnings) != 1 ||
		r.Worker != "" {
		t.Errorf("%v %+v", w.plane.splits, r)
	}
}

// TestBeatsTellOfACancel, and a run that began is not given back.
func TestBeatsTellOfACancel(t *testing.T) {
	t.Parallel()
	w := one(t)
	_, h := w.begun()
	if err := w.relay.Save(t.Context(), h, ends(runs.Pending)); !runs.RunStateChanged.Is(err) {
		t.Errorf("given back: %v", err)
	}
	b, err := w.relay.Beat(t.Context(), h)
	if err != nil || b != (execution.RelayBeat{LeaseSeconds: 30}) {
		t.Errorf("%+v %v", b, err)
	}
	want := true
	w.must(w.d.Do(t.Context(), func(ctx context.Context) error {
		return w.plane.store.Amend(ctx, h.RunID, runs.Amendment{CancelRequested: &want})
	}))
	if b, err = w.relay.Beat(t.Context(), h); err != nil || !b.CancelRequested {
		t.Errorf("%+v %v", b, err)
	}
}
