package extensiontest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
)

// Notifier is the suite's input. Open is called once for each case.
type Notifier struct {
	Open func(t *testing.T) NotifierUnderTest
}

// NotifierUnderTest is a notifier with its target.
type NotifierUnderTest struct {
	Notifier extension.Notifier
	// Heard returns the ids of the runs that arrived at the notifier's target, once for each arrival.
	Heard func() []string
	// Break makes the target fail until the test ends, and Hang makes it never answer. They are nil if the notifier's
	// target cannot fail.
	Break func()
	Hang  func()
	// Secrets are texts that no error may contain.
	Secrets []string
}

// Run tests the notifier against the contract of extension.Notifier.
func (s Notifier) Run(t *testing.T) {
	for name, test := range map[string]func(*testing.T, NotifierUnderTest){
		"every outcome arrives": hearsOutcomes, "a run that says little": hearsLittle, "texts of every sort": hearsTexts,
		"a large record":      hearsMuch,
		"the same call again": hearsAgain, "many calls at once": hearsMany, "the run is left as it is": leavesRun,
		"a place that fails": breaks, "a place that never answers": hangs, "a context that is over": isOver,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s.Open(t))
		})
	}
}

// ended makes a run that ended.
func ended(n int, status string) extension.EndedRun {
	began := time.Date(2025, 3, 4, 5, 6, 7, 891011000, time.UTC)
	run := extension.EndedRun{
		Delivery: fmt.Sprintf("nty_%026d", n), ID: fmt.Sprintf("run_%026d", n), Name: "Nightly patch", Tool: "bash",
		Status: status, StartedAt: began, EndedAt: began.Add(3 * time.Minute),
	}
	if status == "failed" || status == "interrupted" {
		run.Error = "the tool ended with exit code 2"
	}
	run.Record = json.RawMessage(fmt.Sprintf(`{"id":%q,"status":%q,"extra_vars":{"password":"[redacted]"}}`, run.ID,
		run.Status))
	return run
}

// outcomes returns the terminal states of a run.
func outcomes() []string {
	return []string{"succeeded", "failed", "canceled", "interrupted", "rejected"}
}

// notifies fails unless a call succeeds and its run arrives.
func (n NotifierUnderTest) notifies(t *testing.T, run extension.EndedRun) {
	t.Helper()
	before := n.count(run.ID)
	if err := n.Notifier.Notify(t.Context(), run); err != nil {
		t.Errorf("a run that is %s: %v", run.Status, err)
		return
	}
	if got := n.count(run.ID) - before; got != 1 {
		t.Errorf("a run that is %s arrived %d times", run.Status, got)
	}
}

func (n NotifierUnderTest) count(id string) int {
	heard := n.Heard()
	return len(heard) - len(slices.DeleteFunc(slices.Clone(heard), func(s string) bool { return s == id }))
}

func hearsOutcomes(t *testing.T, n NotifierUnderTest) {
	for i, status := range outcomes() {
		n.notifies(t, ended(i, status))
	}
}

// hearsLittle tests a run without its optional members: a rejected run never began.
func hearsLittle(t *testing.T, n NotifierUnderTest) {
	n.notifies(t, extension.EndedRun{Delivery: "nty_1", ID: "run_1", Status: "rejected", Record: json.RawMessage(`{}`)})
	n.notifies(t, extension.EndedRun{Delivery: "nty_2", ID: "run_2", Status: "canceled", Tool: "bash",
		EndedAt: time.Unix(1, 0).UTC(),
		Record:  json.RawMessage(`{"id":"run_2"}`)})
}

func hearsTexts(t *testing.T, n NotifierUnderTest) {
	for i, text := range []string{
		"Größe 'quoted' \"twice\" ? $1 \\ %s 京 \U0001F642", "a\r\nX-Header: b\r\n\r\n", "a\x00b\x1b[31m", "\u202eabc\u2066",
		"<script>alert(1)</script> @everyone <!here> [x](https://x.example)",
		"\xff\xfe", strings.Repeat("long ", 10_000), "$(id) `id` ; id | id", "{{ id }} ${id} %n",
	} {
		run := ended(i, "failed")
		run.Name, run.Error, run.Tool = text, text, text
		n.notifies(t, run)
	}
}

func hearsMuch(t *testing.T, n NotifierUnderTest) {
	run := ended(1, "succeeded")
	run.Record = json.RawMessage(`{"id":"` + run.ID + `","note":"` + strings.Repeat("x", 1<<20) + `"}`)
	n.notifies(t, run)
}

// hearsAgain makes a call twice, as the server does if the response to a successful call was lost.
func hearsAgain(t *testing.T, n NotifierUnderTest) {
	run := ended(1, "failed")
	for range 2 {
		if err := n.Notifier.Notify(t.Context(), run); err != nil {
			t.Errorf("a call that is made again: %v", err)
		}
	}
	if got := n.count(run.ID); got < 1 || got > 2 {
		t.Errorf("two calls of one delivery arrived %d times", got)
	}
}

func hearsMany(t *testing.T, n NotifierUnderTest) {
	const calls = 16
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			if err := n.Notifier.Notify(t.Context(), ended(i, "succeeded")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range calls {
		if got := n.count(ended(i, "").ID); got != 1 {
			t.Errorf("the run %d arrived %d times", i, got)
		}
	}
}

// leavesRun passes a record with spare capacity, which the notifier must not write to either.
func leavesRun(t *testing.T, n NotifierUnderTest) {
	run := ended(1, "failed")
	buffer := append(make([]byte, 0, 4096), run.Record...)
	run.Record = buffer
	n.notifies(t, run)
	if !bytes.Equal(buffer, ended(1, "failed").Record) ||
		bytes.Count(buffer[len(buffer):cap(buffer)], []byte{0}) != cap(buffer)-len(buffer) {
		t.Error("the notifier wrote into the record")
	}
}

func breaks(t *testing.T, n NotifierUnderTest) {
	if n.Break == nil {
		return
	}
	n.Break()
	err := n.Notifier.Notify(t.Context(), ended(1, "failed"))
	if err == nil {
		t.Error("what did not arrive is no error, and thus not tried again")
	}
	n.silent(t, err)
}

func hangs(t *testing.T, n NotifierUnderTest) {
	if n.Hang == nil {
		return
	}
	n.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err := n.Notifier.Notify(ctx, ended(1, "failed"))
	if err == nil {
		t.Error("what nobody answered is no error")
	}
	if took := time.Since(begin); took > prompt {
		t.Errorf("a call of 200 ms took %s", took)
	}
	n.silent(t, err)
}

func isOver(t *testing.T, n NotifierUnderTest) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run := ended(1, "failed")
	err := n.Notifier.Notify(ctx, run)
	if arrived := n.count(run.ID); err == nil && arrived != 1 {
		t.Errorf("a call that arrived %d times is said to have worked", arrived)
	}
	n.silent(t, err)
}

// silent checks that an error contains no secret.
func (n NotifierUnderTest) silent(t *testing.T, err error) {
	t.Helper()
	for _, s := range n.Secrets {
		if err != nil && s != "" && strings.Contains(err.Error(), s) {
			t.Errorf("a secret is told: %v", err)
		}
	}
}
