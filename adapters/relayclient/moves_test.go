package relayclient_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// ending is one with everything in it.
func ending(seq int64) runs.Ending {
	code, at := 2, time.Date(2026, time.January, 5, 8, 30, 0, 0, time.UTC)
	return runs.Ending{
		Status: runs.Failed, ExitCode: &code, Error: "it <failed>", Warnings: []runs.Warning{{Code: "c", Message: "m"}},
		Outputs: runs.Vars{"n": json.RawMessage("12345678901234567890.10")}, Commit: "c0ffee", Touched: 1,
		Counts: runs.HostCounts{runs.HostOK: 1},
		Log:    runs.LogChunk{Data: []byte("hello\n")}, LogBytes: 6, LogOmitted: 1, LogSHA256: "sum", ToolVersion: "2.19.11",
		Events: []runs.Event{{Seq: seq, Type: runs.EventHostOK, Host: "a"}},
		Hosts:  []runs.HostSummary{{Host: "a", OK: 1, Worst: runs.HostOK}}, Tasks: []runs.TaskSummary{{Task: "t", OK: 1}},
		StartedAt: at, EndedAt: at.Add(time.Minute),
		AcceptedHostKeys: []runs.HostKey{{Host: "h", Type: "t", Fingerprint: "f"}},
	}
}

func TestAnEndingIsReportedInItsOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.begun()
	before := len(w.fake.calls(""))
	w.must(w.Finish(t.Context(), a.Lease, ending(a.NextSeq)))
	var verbs []string
	for _, c := range w.fake.calls("")[before:] {
		verbs = append(verbs, c.path[strings.LastIndexByte(c.path, '/')+1:])
	}
	if diff := cmp.Diff([]string{"log", "events", "host-summary", "task-summary", "save"}, verbs); diff != "" {
		t.Error(diff)
	}
	var got map[string]json.RawMessage
	saves := w.fake.calls("/save")
	w.must(json.Unmarshal(saves[len(saves)-1].body, &got))
	want := map[string]string{
		"status": `"failed"`, "exit_code": "2", "error": `"it <failed>"`, "warnings": `[{"code":"c","message":"m"}]`,
		"outputs": `{"n":12345678901234567890.10}`, "commit": `"c0ffee"`, "tool_version": `"2.19.11"`,
		"started_at": `"2026-01-05T08:30:00Z"`,
		"ended_at":   `"2026-01-05T08:31:00Z"`, "log_bytes": "6", "log_sha256": `"sum"`,
		"accepted_host_keys": `[{"host":"h","type":"t","fingerprint":"f"}]`,
	}
	for k, v := range want {
		if string(got[k]) != v {
			t.Errorf("%s is %s", k, got[k])
		}
	}
	if len(got) != len(want) {
		t.Errorf("the save is %s", saves[len(saves)-1].body)
	}
}

// Whichever answer is lost, repeating the ending ends the run, once.
func TestLostAnswersOfAnEnding(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"/log", "/events", "/host-summary", "/task-summary", "/save"} {
		t.Run(verb[1:], func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, nil)
			a := w.begun()
			w.fake.set(func() { w.fake.after = func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, verb) } })
			if err := w.Finish(t.Context(), a.Lease, ending(a.NextSeq)); !fault.Is(err, fault.Unavailable) {
				t.Fatalf("a lost answer: %v", err)
			}
			w.kept(a.Lease.RunID)
			w.fake.set(func() { w.fake.after = nil })
			for range 3 {
				w.must(w.Finish(t.Context(), a.Lease, ending(a.NextSeq)))
				w.kept()
			}
			r := w.fake.see(a.Lease.RunID)
			if r.run.Status != runs.Failed || string(r.log) != "hello\n" || len(r.events) != 1 || len(r.hosts) != 1 {
				t.Errorf("the record is %+v", r)
			}
			other := ending(a.NextSeq)
			other.Status = runs.Succeeded
			if err := w.Finish(t.Context(), a.Lease, other); !runs.LeaseLost.Is(err) {
				t.Errorf("another ending: %v", err)
			}
		})
	}
}

func TestEndingsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.begun()
	for _, s := range []runs.Status{runs.Running, runs.Pending, runs.Rejected, ""} {
		if err := w.Finish(t.Context(), a.Lease, runs.Ending{Status: s}); !fault.Is(err, fault.Invalid) {
			t.Errorf("ending as %q: %v", s, err)
		}
	}
	w.kept(a.Lease.RunID)
	end := ending(a.NextSeq + 5)
	if err := w.Finish(t.Context(), a.Lease, end); !runs.SequenceGap.Is(err) {
		t.Errorf("a gap: %v", err)
	}
	w.kept()
	b := w.begun()
	w.fake.expire(b.Lease.RunID)
	if err := w.Finish(t.Context(), b.Lease, ending(b.NextSeq)); !runs.LeaseLost.Is(err) {
		t.Errorf("a lost lease: %v", err)
	}
	w.kept()
	if r := w.fake.see(b.Lease.RunID); len(r.log)+len(r.events)+len(r.hosts) != 0 || r.end != nil {
		t.Errorf("a lost lease wrote %+v", r)
	}
}

func TestMoves(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	split := w.claimed()
	if err := w.Divide(t.Context(), split.Lease, nil, nil); !fault.Is(err, fault.Invalid) ||
		w.fake.see(split.Lease.RunID).run.Begun {
		t.Errorf("divided over nothing: %v", err)
	}
	w.must(w.Divide(t.Context(), split.Lease, []string{"a", "b"}, []runs.Warning{{Code: "c", Message: "m"}}))
	if r := w.fake.see(split.Lease.RunID); fmt.Sprint(r.split, r.warn) != "[a b] [{c m}]" {
		t.Errorf("divided as %v with %v", r.split, r.warn)
	}
	w.kept()
	onAnswer := w.begun()
	if err := w.Release(t.Context(), onAnswer.Lease); !runs.RunStateChanged.Is(err) {
		t.Errorf("a run that began is given back: %v", err)
	}
	w.kept()
	back := w.claimed()
	w.must(w.Release(t.Context(), back.Lease))
	w.kept()
	if err := w.Begin(t.Context(), runs.Lease{RunID: "run_x", Worker: worker, Epoch: 1}); !runs.LeaseLost.Is(err) {
		t.Errorf("a run that nobody claimed: %v", err)
	}
}

// A run whose release was not answered is released again, and is there for the next claim.
func TestReleasesThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"taken": true, "not taken": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, nil)
			a, other := w.claimed(), w.begun()
			w.fake.set(func() {
				w.fake.after = func(*http.Request) bool { return taken }
				w.fake.instead = func(rw http.ResponseWriter, _ *http.Request, _ []byte) bool {
					if !taken {
						reply{502, "text/html", page}.give(rw)
					}
					return !taken
				}
			})
			if err := w.Release(t.Context(), a.Lease); !fault.Is(err, fault.Unavailable) {
				t.Errorf("a release that was not answered: %v", err)
			}
			for range 2 { // nor is what comes next
				if _, err := w.Claim(t.Context(), runs.ClaimRequest{Worker: worker}); !fault.Is(err, fault.Unavailable) {
					t.Errorf("a claim that was not answered: %v", err)
				}
			}
			w.kept(a.Lease.RunID, other.Lease.RunID)
			w.fake.set(func() { w.fake.after, w.fake.instead = nil, nil })
			if again := w.claim(); again.Lease.RunID != a.Lease.RunID || again.Lease.Epoch != 2 {
				t.Errorf("claimed %+v", again.Lease)
			}
			w.kept(a.Lease.RunID, other.Lease.RunID)
			if err := w.Begin(t.Context(), a.Lease); !runs.LeaseLost.Is(err) {
				t.Errorf("the first claim: %v", err)
			}
			w.must(w.Finish(t.Context(), other.Lease, ending(other.NextSeq)))
		})
	}
}

// A final refusal of a report ends the claim, and the executor stops the run. The claim can still be used for reports.
func TestReportsThatAreRefusedForGood(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.begun()
	if _, err := w.AppendEvents(t.Context(), a.Lease, []runs.Event{{Seq: a.NextSeq + 1}}); !runs.SequenceGap.Is(err) {
		t.Errorf("a gap: %v", err)
	}
	w.kept()
	w.must(w.Finish(t.Context(), a.Lease, ending(a.NextSeq)))
}

func TestBeats(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	var leases []runs.Lease
	for range 20 {
		leases = append(leases, w.begun().Lease)
	}
	w.fake.set(func() { w.fake.records["run_002"].run.CancelRequested = true })
	w.fake.expire("run_003")
	leases = append(leases, runs.Lease{RunID: "run_x", Worker: worker, Epoch: 1})
	var now, most atomic.Int64
	all := make(chan struct{})
	w.fake.set(func() {
		w.fake.instead = func(http.ResponseWriter, *http.Request, []byte) bool {
			n := now.Add(1)
			defer now.Add(-1)
			for old := most.Load(); old < n && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			if n == 8 {
				select {
				case <-all:
				default:
					close(all)
				}
			}
			<-all
			return false
		}
	})
	got, err := w.Beat(t.Context(), worker, leases)
	w.must(err)
	if most.Load() != 8 {
		t.Errorf("%d leases were renewed at once", most.Load())
	}
	for i, b := range got {
		want := runs.Beat{RunID: leases[i].RunID, Lost: i == 2 || i == 20, CancelRequested: i == 1}
		if b != want {
			t.Errorf("%+v, not %+v", b, want)
		}
	}
	if len(got) != 21 || len(w.files()) != 19 {
		t.Errorf("%d answers, %d files", len(got), len(w.files()))
	}
}

func TestBeatsThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	leases := []runs.Lease{w.begun().Lease, w.begun().Lease, w.begun().Lease}
	some := func(fails func(id string) bool) {
		w.fake.set(func() {
			w.fake.instead = func(rw http.ResponseWriter, _ *http.Request, body []byte) bool {
				var b execution.RelayBeatOf
				if json.Unmarshal(body, &b) != nil || !fails(b.RunID) {
					return false
				}
				reply{502, "text/html", page}.give(rw)
				return true
			}
		})
	}
	some(func(id string) bool { return id == leases[1].RunID })
	if got, err := w.Beat(t.Context(), worker, leases); err != nil || len(got) != 2 || got[0].RunID != leases[0].RunID ||
		got[1].RunID != leases[2].RunID {
		t.Errorf("%+v, %v", got, err)
	}
	some(func(string) bool { return true })
	if got, err := w.Beat(t.Context(), worker, leases); !fault.Is(err, fault.Unavailable) || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := w.Beat(t.Context(), worker, nil); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	w.kept(leases[0].RunID, leases[1].RunID, leases[2].RunID)
}

func TestLargeReportsGoInParts(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.begun()
	data := []byte(strings.Repeat("0123456789abcdef", 90_000)) // 1.4 MB
	next, err := w.AppendLog(t.Context(), a.Lease, runs.LogChunk{Data: data})
	if err != nil || next != int64(len(data)) || len(w.fake.calls("/log")) != 3 {
		t.Errorf("%d, %v in %d calls", next, err, len(w.fake.calls("/log")))
	}
	var events []runs.Event
	for i := range 2500 {
		e := runs.Event{Seq: a.NextSeq + int64(i), Type: runs.EventHostOK, Host: "h", Facts: json.RawMessage(`{"n":1.10}`)}
		if i < 20 {
			e.Stdout = strings.Repeat("<x>", 50_000) // 150 kB, and no more with its escapes
		}
		events = append(events, e)
	}
	seq, err := w.AppendEvents(t.Context(), a.Lease, events)
	if err != nil || seq != a.NextSeq+2500 {
		t.Errorf("%d, %v", seq, err)
	}
	hosts, tasks, facts := make([]runs.HostSummary, 12_000), make([]runs.TaskSummary, 5001), make([]runs.HostFacts, 30)
	for i := range hosts {
		hosts[i] = runs.HostSummary{Host: fmt.Sprint("host", i), OK: i, Worst: runs.HostOK, Duration: time.Second}
	}
	for i := range facts {
		facts[i] = runs.HostFacts{Host: fmt.Sprint("host", i),
			Facts: json.RawMessage(`{"a":"` + strings.Repeat("x", 100_000) + `"}`)}
	}
	w.must(w.SaveHosts(t.Context(), a.Lease, hosts))
	w.must(w.SaveTasks(t.Context(), a.Lease, tasks))
	w.must(w.SaveFacts(t.Context(), a.Lease, facts))
	r := w.fake.see(a.Lease.RunID)
	if !reflect.DeepEqual(events, r.events) || string(r.log) != string(data) {
		t.Errorf("%d events, %d bytes", len(r.events), len(r.log))
	}
	if len(r.hosts) != 12_000 || r.hosts["host11999"] != hosts[11_999] || len(r.tasks) != 5001 || len(r.facts) != 30 {
		t.Errorf("%d hosts, %d tasks, %d facts", len(r.hosts), len(r.tasks), len(r.facts))
	}
	for verb, n := range map[string]int{"/events": 4, "/host-summary": 3, "/task-summary": 2, "/host-facts": 2} {
		calls := w.fake.calls(verb)
		if len(calls) != n {
			t.Errorf("%d calls of %s", len(calls), verb)
		}
		for _, c := range calls {
			if len(c.body) > 2<<20 {
				t.Errorf("%s has %d bytes", verb, len(c.body))
			}
		}
	}
}

// An item that is too large for any call does not end the run.
func TestItemsThatNoCallCanCarry(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	a := w.begun()
	huge := json.RawMessage(`"` + strings.Repeat("x", execution.RelayBody) + `"`)
	next, err := w.AppendEvents(t.Context(), a.Lease, []runs.Event{
		{Seq: a.NextSeq, Type: runs.EventFacts, Host: "a", Facts: huge},
		{Seq: a.NextSeq + 1, Type: runs.EventHostOK, Host: "b"},
	})
	if err != nil || next != a.NextSeq+2 {
		t.Errorf("%d, %v", next, err)
	}
	w.must(w.SaveFacts(t.Context(), a.Lease,
		[]runs.HostFacts{{Host: "a", Facts: huge}, {Host: "b", Facts: json.RawMessage(`{}`)}}))
	r := w.fake.see(a.Lease.RunID)
	if len(r.events) != 2 || !r.events[0].Truncated || r.events[0].Facts != nil || r.events[1].Truncated ||
		len(r.facts) != 1 || r.facts[0].Host != "b" {
		t.Errorf("%d events, %d facts", len(r.events), len(r.facts))
	}
	if log := w.log.String(); !strings.Contains(log, "host=a") || !strings.Contains(log, "without its documents") {
		t.Errorf("the log is %.500s", log)
	}
	end := ending(a.NextSeq + 2)
	end.Outputs = runs.Vars{"o": huge}
	if err := w.Finish(t.Context(), a.Lease, end); !fault.Is(err, fault.TooLarge) || len(w.fake.calls("/save")) != 1 {
		t.Errorf("an ending that no call has room for: %v", err)
	}
}
