package notifytest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// undisclosed is part of every value of a run that no message may contain.
const undisclosed = "c4nary-0f-the-run"

// message makes a message about a run of that status with every member set.
func message(status runs.Status, edit ...func(*runs.Run)) notify.Message {
	began := time.Date(2025, 3, 4, 5, 6, 7, 891011000, time.UTC)
	secret := runs.Vars{"password": json.RawMessage(`"` + undisclosed + `"`)}
	r := &runs.Run{
		ID: "run_01jnfq3m5h8k2v4x6z7b9c0d1e", Name: "Nightly patch", Kind: runs.Single, Status: status,
		Spec:   runs.Spec{Tool: "bash", Command: "echo " + undisclosed, Env: map[string]string{"TOKEN": undisclosed}},
		Origin: runs.Origin{Source: runs.FromAPI}, Vars: secret, Outputs: secret,
		Actor:     actor.Actor{Type: actor.User, ID: "usr_1", Name: "ada", IP: undisclosed, Token: undisclosed},
		CreatedAt: began.Add(-time.Minute), StartedAt: began, EndedAt: began.Add(192 * time.Second),
		Hosts:    runs.HostCounts{runs.HostOK: 12, runs.HostFailed: 1},
		Warnings: []runs.Warning{{Code: runs.WarnTagsMatchedNothing, Message: "the tags matched nothing"}},
	}
	if status == runs.Failed || status == runs.Interrupted {
		r.Error = "the tool ended with exit code 2"
	}
	event := notify.Finished
	if status == runs.PendingApproval {
		event, r.StartedAt, r.EndedAt, r.Approvals = notify.Held, time.Time{}, time.Time{},
			&runs.Approvals{Holds: []runs.Hold{{ID: "pol_1", Name: "Change freeze"}}}
	}
	for _, fn := range edit {
		fn(r)
	}
	return notify.Message{Delivery: "nty_01jnfq3m5h8k2v4x6z7b9c0d1e", Event: event, Run: r, Record: record(r)}
}

// drifted makes a message about new drift. What users choose of it is that of the run.
func drifted(edit ...func(*runs.Run)) notify.Message {
	m := message(runs.Succeeded, edit...)
	m.Event = notify.DriftFound
	m.Drift = &estate.DriftFound{RunID: m.Run.ID, TargetID: "1", Playbook: m.Run.Spec.Playbook, New: 3, HostCount: 2,
		Hosts: []string{m.Run.Name, m.Run.Actor.Name}, At: m.Run.EndedAt}
	return m
}

// record returns a run like the API. It only has to be a JSON object.
func record(r *runs.Run) json.RawMessage {
	b, err := json.Marshal(map[string]any{"id": r.ID, "status": r.Status,
		"number":     json.RawMessage("12345678901234567890"),
		"extra_vars": map[string]string{"a": runs.Redacted}})
	if err != nil {
		panic(err) // of texts and a literal
	}
	return b
}

// delivered fails unless a message is accepted, and returns the text that the receiver read.
func delivered(t testing.TB, c ChannelUnderTest, m notify.Message) string {
	t.Helper()
	before := len(c.Outside.Heard())
	if err := c.Channel.Deliver(t.Context(), c.Outside.Target, m); err != nil {
		t.Fatalf("a message about a run that is %s: %v", m.Run.Status, err)
	}
	all := c.Outside.Heard()
	if len(all) != before+1 {
		t.Fatalf("%d messages arrived instead of one", len(all)-before)
	}
	return all[before]
}

func channelKind(t *testing.T, c ChannelUnderTest) {
	if _, ok := notify.KindOf(c.Channel.Kind()); !ok {
		t.Errorf("%q is no kind", c.Channel.Kind())
	}
}

func channelOutcomes(t *testing.T, c ChannelUnderTest) {
	seen := map[string]bool{}
	list := []notify.Message{drifted()}
	for _, s := range []runs.Status{runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted, runs.Rejected,
		runs.PendingApproval} {
		list = append(list, message(s))
	}
	for _, m := range list {
		text := delivered(t, c, m)
		if seen[text] {
			t.Errorf("%s of a run that is %s sounds like another message", m.Event, m.Run.Status)
		}
		seen[text] = true
		if !strings.Contains(text, "run_01jnfq3m5h8k2v4x6z7b9c0d1e") {
			t.Errorf("%s: no id of the run in %q", m.Run.Status, text)
		}
	}
}

func channelBare(t *testing.T, c ChannelUnderTest) {
	for _, e := range []notify.Event{notify.Finished, notify.Held} {
		m := notify.Message{Event: e, Run: &runs.Run{ID: "run_1"}, Record: json.RawMessage(`{"id":"run_1"}`)}
		if text := delivered(t, c, m); !strings.Contains(text, "run_1") {
			t.Errorf("no id of the run in %q", text)
		}
	}
}

func channelDiscreet(t *testing.T, c ChannelUnderTest) {
	for _, name := range []string{"", "Nightly patch"} {
		for _, s := range []runs.Status{runs.Failed, runs.PendingApproval} {
			if text := delivered(t, c, message(s, func(r *runs.Run) { r.Name = name })); strings.Contains(text, undisclosed) {
				t.Errorf("something is told that may not be: %q", text)
			}
		}
		if text := delivered(t, c, drifted(func(r *runs.Run) { r.Name = name })); strings.Contains(text, undisclosed) {
			t.Errorf("something is told of drift that may not be: %q", text)
		}
	}
}

// hostile returns texts with a meaning for programs that show or carry messages.
func hostile() []string {
	return []string{
		"<script>alert(1)</script>", "<!channel> <!here> <@U123> <#C123|x> <https://evil.example|click>",
		"@everyone @here @channel @all @ada",
		"[click](https://evil.example) ![x](https://evil.example/x.png)",
		"**bold** _it_ ~~no~~ `code` ||spoiler|| # head > quote",
		"<at>ada</at> {{DATE(2025-03-04T05:06:07Z)}}",
		"a\r\nBcc: eve@evil.example\r\n\r\nbody", "a\nTitle: b", "a\x00b\x1b[31mred\x7f", "abc\u202edcba\u2066x\u2069",
		"zero\u200bwidth\ufeff\u2028line\u2029end",
		"\xff\xfe\xc3", "=?utf-8?q?decoded?=", "\r\n.\r\nMAIL FROM:<eve@evil.example>", ".", "..", `"}],"x":[{"`,
		"%s%n${x}#{y}{{z}}",
		"&amp;&lt;&#64;", "\U000e0041\U000e0042", "👩‍🚀 Größe 京 שלום",
	}
}

func channelHostile(t *testing.T, c ChannelUnderTest) {
	for _, s := range hostile() {
		for _, status := range []runs.Status{runs.Failed, runs.PendingApproval} {
			harmless(t, c, delivered(t, c, message(status, spread(s))))
		}
		harmless(t, c, delivered(t, c, drifted(spread(s))))
	}
}

// spread sets every text of a run that users choose.
func spread(s string) func(*runs.Run) {
	return func(r *runs.Run) {
		r.Name, r.Error, r.Actor.Name, r.Spec.Tool, r.Spec.Playbook = s, s, s, s, s
		if h := r.HeldBy(); h != nil {
			h.Name = s
		}
	}
}

// harmless checks the text that the receiver read.
func harmless(t testing.TB, c ChannelUnderTest, text string) {
	t.Helper()
	for _, bad := range c.Outside.Harmful {
		if strings.Contains(text, bad) {
			t.Errorf("%q arrived: %q", bad, text)
			return
		}
	}
	if !utf8.ValidString(text) {
		t.Errorf("what arrived is no UTF-8: %q", text)
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Zl, r) ||
			unicode.Is(unicode.Zp, r) {
			t.Errorf("%U arrived: %q", r, text)
			return
		}
	}
}

func channelLong(t *testing.T, c ChannelUnderTest) {
	for _, s := range []string{"a", "é", "😀", "&", "*", "@", "<", "\\", "\n", "a\u0301", "a b "} {
		text := delivered(t, c, message(runs.Failed, spread(strings.Repeat(s, 20_000))))
		if len(text) > 64<<10 {
			t.Errorf("%q: %d bytes arrived", s, len(text))
		}
		harmless(t, c, text)
		harmless(t, c, delivered(t, c, drifted(spread(strings.Repeat(s, 20_000)))))
	}
}

func channelAnything(t *testing.T, c ChannelUnderTest) {
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(hostile(), "a", " ", "\\", "<", "@", "😀", "\n")), 0, 12).
			Draw(rt, "pieces"), "")
		status := rapid.SampledFrom([]runs.Status{runs.Succeeded, runs.Failed, runs.PendingApproval}).Draw(rt, "status")
		if err := c.Channel.Deliver(t.Context(), c.Outside.Target,
			message(status, spread(s+rapid.String().Draw(rt, "text")))); err != nil {
			rt.Fatal(err)
		}
	})
	for _, text := range c.Outside.Heard() {
		if harmless(t, c, text); t.Failed() {
			return
		}
	}
}

func channelAgain(t *testing.T, c ChannelUnderTest) {
	m := message(runs.Failed)
	first, second := delivered(t, c, m), delivered(t, c, m)
	if first != second {
		t.Errorf("another try says something else:\n%s", cmp.Diff(first, second))
	}
}

func channelPure(t *testing.T, c ChannelUnderTest) {
	m, same := message(runs.Failed), message(runs.Failed)
	m.Record = append(make(json.RawMessage, 0, 4096), m.Record...) // with spare capacity, which is not the channel's
	delivered(t, c, m)
	if diff := cmp.Diff(same, m); diff != "" {
		t.Errorf("the message was changed:\n%s", diff)
	}
	if rest := m.Record[len(m.Record):cap(m.Record)]; slices.ContainsFunc(rest, func(b byte) bool { return b != 0 }) {
		t.Error("the channel wrote behind the record")
	}
}
