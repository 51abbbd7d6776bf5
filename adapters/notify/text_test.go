package notify

import (
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/plaintext"
	"github.com/writ-automation/writ/ports/runs"
)

// TestAnyText checks that the functions for texts keep the limits of the services.
func TestAnyText(t *testing.T) {
	t.Parallel()
	escapers := map[string]escaper{
		"plain": plain, "unmentioned": escapeMentions, "slack": forSlack, "mattermost": forMattermost, "discord": forDiscord,
		"rocketchat": forRocketChat, "teams": forTeams, "html": forHTML,
	}
	rapid.Check(t, func(rt *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes")) + rapid.String().Draw(rt, "text")
		most := rapid.IntRange(2, 60).Draw(rt, "most")
		s := plaintext.Line(raw, most)
		for name, esc := range escapers {
			got, whole := truncate(s, most, esc), truncate(s, 1<<20, esc)
			body, cut := strings.CutSuffix(got, "…")
			if units(got) > most || !utf8.ValidString(got) || cut && got != whole && !strings.HasPrefix(whole, body) ||
				!cut && got != whole {
				rt.Fatalf("%s: %q became %q of %d, whole %q", name, s, got, most, whole)
			}
			if cut && (name == "mattermost" || name == "discord") && strings.HasSuffix(strings.ReplaceAll(body, `\\`, ""), `\`) {
				rt.Fatalf("%s: an escape was cut in two: %q", name, got)
			}
		}
		if b := cutBytes(s, most); len(b) > most || !utf8.Valid(b) || !strings.HasPrefix(s, string(b)) {
			rt.Fatalf("%q was cut to %q", s, b)
		}
	})
}

// TestScrubs checks that no form of a secret remains in an answer, whatever surrounds it.
func TestScrubs(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(
		"https://us" +
			"er%40x:pass%2Fword@hooks.example.com/services/T0123/B0123/to%20ken-abcdefghijkl?sig=s%2Big%3Dnature&api-version=1")
	if err != nil {
		t.Fatal(err)
	}
	s := newScrubber(u, []string{"k"})
	if got := s.excerpt(
		[]byte("services: no_team in webhooks at hooks.example.com")); got != "services: no_team in webhoo***s at "+
		"hoo***s.example.com" {
		t.Errorf("what is no secret became %q", got)
	}
	s = newScrubber(u, []string{"a key of its own"})
	rapid.Check(t, func(rt *rapid.T) {
		hidden := []string{"T0123", "B0123", "to%20ken-abcdefghijkl", "to ken-abcdefghijkl", "s%2Big%3Dnature", "s+ig=nature",
			"user@x", "user%40x",
			"pass/word", "pass%2Fword", "a key of its own",
			"a+key+of+its+own", u.RequestURI(), u.String()}
		phrases := rapid.SliceOf(rapid.SampledFrom(append([]string{" ", "/", "not found", "😀", "\x00", "\u202e"},
			hidden...))).Draw(rt, "words")
		got := s.excerpt([]byte(strings.Join(phrases, rapid.SampledFrom([]string{"", " ", ":"}).Draw(rt, "between"))))
		for _, h := range hidden {
			if strings.Contains(strings.ToLower(got), strings.ToLower(h)) {
				rt.Fatalf("%q of %q", got, phrases)
			}
		}
		if utf8.RuneCountInString(got) > maxExcerpt {
			rt.Fatalf("%d characters", utf8.RuneCountInString(got))
		}
	})
}

// TestReport checks how runs and people are named when parts are unknown.
func TestReport(t *testing.T) {
	t.Parallel()
	began := time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, c := range []struct {
		run   runs.Run
		title string
		lines string
	}{
		{runs.Run{Name: "Patch", Status: runs.Succeeded}, "Patch succeeded", "Status: succeeded"},
		{runs.Run{Name: "Patch", Status: runs.Succeeded, Spec: runs.Spec{DryRun: true}}, "Patch was checked",
			"Status: checked"},
		{runs.Run{Name: "Patch", Status: runs.Failed, Spec: runs.Spec{DryRun: true}}, "Patch failed", "Status: failed"},
		{runs.Run{Spec: runs.Spec{Tool: "bash", Command: "rm"}, Status: runs.Rejected}, "bash was rejected",
			"Status: rejected"},
		{runs.Run{Spec: runs.Spec{Tool: "ansible", Playbook: "a.yml"}, Status: runs.Canceled}, "ansible a.yml was canceled",
			"Status: canceled"},
		{runs.Run{Name: "\u202e", Status: runs.Interrupted}, "A run was interrupted", "Status: interrupted"},
		{runs.Run{Name: "a", Status: "odd\n", ID: "run_1"}, "a has ended", "Status: odd\nRun: run_1"},
		{runs.Run{Name: "a", Status: runs.Failed, Actor: actor.Actor{Type: actor.Hook}, StartedAt: began,
			EndedAt: began.Add(90*time.Minute + 400*time.Millisecond)},
			"a failed", "Status: failed\nDuration: 1h30m0s\nAsked by: hook"},
		{runs.Run{Name: "a", Status: runs.Failed, Actor: actor.Actor{Type: actor.User, ID: "usr_1"},
			Hosts: runs.HostCounts{"odd": 1,
				runs.HostIncomplete: 2, runs.HostOK: 1}, StartedAt: began},
			"a failed", "Status: failed\nHosts: 1 ok, 2 incomplete\nAsked by: usr_1"},
	} {
		r := reportOf(notify.Message{Event: notify.Finished, Run: &c.run})
		if r.title != c.title || r.lines() != c.lines {
			t.Errorf("%q\n%s\ninstead of %q\n%s", r.title, r.lines(), c.title, c.lines)
		}
	}
	// A late notification must not ask for a decision that was already made.
	for status, want := range map[runs.Status]string{
		runs.PendingApproval: "a waits for approval: Status: waiting for approval",
		runs.Rejected:        "a was held for approval: Status: rejected",
	} {
		if r := reportOf(notify.Message{Event: notify.Held, Run: &runs.Run{Name: "a", Status: status}}); r.title+": "+
			r.lines() != want {
			t.Errorf("%q, %q instead of %q", r.title, r.lines(), want)
		}
	}
}
