package harness

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// History records what a server acknowledged and what its runs did, so that a test can compare the two after any fault.
// Its methods are safe for concurrent use.
type History struct {
	t      testing.TB
	starts string

	mu       sync.Mutex
	acked    []string
	receipts []string
}

// NewHistory returns an empty history.
func NewHistory(t testing.TB) *History {
	return &History{t: t, starts: SharedFile(t)}
}

// Script returns the body of a run whose process first records its start in the history.
func (h *History) Script(then string) Body {
	return Body{"tool": "bash", "command": h.Note() + then}
}

// Note is the shell line that records the start of the run.
func (h *History) Note() string { return `echo "$WRIT_RUN_ID" >> ` + h.starts + "\n" }

// Submit tries to submit a run and records an acknowledged one.
func (h *History) Submit(c Client, body Body, header ...string) (Run, Answer, error) {
	return h.Post(c, "/v1/runs", body, header...)
}

// Post is Submit for another path that makes a run.
func (h *History) Post(c Client, path string, body Body, header ...string) (r Run, a Answer, err error) {
	a, err = c.Try(http.MethodPost, path, body, header...)
	if err != nil || a.Status != http.StatusCreated {
		return r, a, err
	}
	a.JSON(h.t, &r)
	h.Record(a)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.acked, r.ID) {
		h.acked = append(h.acked, r.ID)
	}
	return r, a, nil
}

// Record stores the receipt of a change. A replayed answer made no entry and has none.
func (h *History) Record(a Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if receipt := a.Header.Get("Audit-Receipt"); receipt != "" {
		h.receipts = append(h.receipts, receipt)
	}
}

// Insist retries a submission with an idempotency key until it is acknowledged.
func (h *History) Insist(c Client, body Body, key string) Run {
	h.t.Helper()
	var r Run
	Eventually(h.t, 2*time.Minute, "a submission is acknowledged", func() bool {
		var err error
		r, _, err = h.Submit(c, body, "Idempotency-Key", key)
		return err == nil && r.ID != ""
	})
	return r
}

// Acked lists the runs that were acknowledged, in their order.
func (h *History) Acked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.acked)
}

// Starts returns how often the process of a run started.
func (h *History) Starts(id string) int { return lines(h.t, h.starts)[id] }

// Check waits until every acknowledged run has ended and compares it with the history: it exists, it ended once, its
// process started at most once and exactly once if it succeeded, its log has the bytes that its record counts, and no
// process of it is alive. The audit chain verifies, has every returned receipt, one beginning and one end of each run,
// and no beginning of an unknown run. Check returns the runs in the order of their acknowledgement.
func (h *History) Check(c Client) []Run {
	h.t.Helper()
	ids := h.Acked()
	var out []Run
	for _, id := range ids {
		r := c.Until(id, 2*time.Minute, Run.Ended)
		h.checkRun(c, r)
		out = append(out, r)
	}
	h.checkTrail(c, out)
	for id, n := range lines(h.t, h.starts) {
		if n > 1 {
			h.t.Errorf("run %s started %d times", id, n)
		}
	}
	if left := Marked(h.t, ids); len(left) > 0 {
		h.t.Errorf("orphans live: %v", left)
	}
	return out
}

func (h *History) checkTrail(c Client, list []Run) {
	h.t.Helper()
	c.Intact()
	trail := c.Trail()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, receipt := range h.receipts {
		trail.requireReceipt(h.t, receipt)
	}
	for _, r := range list {
		if begun, ended := trail.Begun[r.ID], trail.Finals[r.ID]; begun != 1 || ended != 1 {
			h.t.Errorf("run %s has %d beginnings and %d ends in the trail", r.ID, begun, ended)
		}
	}
	for id := range trail.Begun {
		if a := c.Do(http.MethodGet, "/v1/runs/"+id, nil); a.Status != http.StatusOK {
			h.t.Errorf("run %s is in the trail and not there: %d", id, a.Status)
		}
	}
}

func (h *History) checkRun(c Client, r Run) {
	h.t.Helper()
	ends := 0
	for _, e := range c.Events(r.ID) {
		if e.Type == "status" && (Run{Status: e.To}).Ended() {
			ends++
			if e.To != r.Status {
				h.t.Errorf("run %s is %s, its journal ends it as %s", r.ID, r.Status, e.To)
			}
		}
	}
	if ends != 1 {
		h.t.Errorf("run %s ended %d times", r.ID, ends)
	}
	if r.Kind != "single" {
		return
	}
	if n := h.Starts(r.ID); r.Status == "succeeded" && n != 1 {
		h.t.Errorf("run %s succeeded and started %d times", r.ID, n)
	}
	if log := c.Log(r.ID); int64(len(log)) != r.LogBytes && !r.Warned("log_truncated") {
		h.t.Errorf("run %s has %d bytes of log, its record counts %d: %q", r.ID, len(log), r.LogBytes, tail(log, 200))
	}
	if (r.Status == "interrupted" || r.Status == "failed") && strings.TrimSpace(r.Error) == "" {
		h.t.Errorf("run %s is %s and does not say why", r.ID, r.Status)
	}
}
