package harness

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// Trail is the content of the audit trail: each entry's leaf hash by its number, and how many entries begin and end
// each run.
type Trail struct {
	Hashes map[int64]string
	Begun  map[string]int
	Finals map[string]int
}

// Trail reads the whole audit trail.
func (c Client) Trail() Trail {
	c.t.Helper()
	out := Trail{Hashes: map[int64]string{}, Begun: map[string]int{}, Finals: map[string]int{}}
	for before := int64(0); ; {
		path := "/v1/audit?limit=1000"
		if before > 0 {
			path += fmt.Sprint("&before=", before)
		}
		var p struct {
			Entries []struct {
				Seq          int64
				Hash, Action string
				Outcome      string
				Object       struct{ ID string }
			}
			NextBefore int64 `json:"next_before"`
		}
		a := c.Do(http.MethodGet, path, nil)
		if a.JSON(c.t, &p); a.Status != http.StatusOK {
			c.t.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
		}
		for _, e := range p.Entries {
			out.Hashes[e.Seq] = e.Hash
			switch {
			case e.Outcome != "applied":
			case e.Action == "run.final":
				out.Finals[e.Object.ID]++
			case slices.Contains([]string{"run.submit", "run.retry", "run.relaunch", "run.rerun"}, e.Action):
				out.Begun[e.Object.ID]++
			}
		}
		if before = p.NextBefore; before == 0 {
			return out
		}
	}
}

// Intact fails the test if the audit chain does not verify.
func (c Client) Intact() {
	c.t.Helper()
	var v struct{ OK bool }
	a := c.Do(http.MethodGet, "/v1/audit/verify", nil)
	if a.JSON(c.t, &v); a.Status != http.StatusOK || !v.OK {
		c.t.Errorf("the audit chain does not verify: %d %.2000s", a.Status, a.Body)
	}
}

// requireReceipt fails the test if a returned receipt is not in the trail.
func (t Trail) requireReceipt(tb testing.TB, receipt string) {
	tb.Helper()
	var seq int64
	var hash string
	if _, err := fmt.Sscanf(receipt, "%d:%s", &seq, &hash); err != nil {
		tb.Errorf("a receipt reads %q", receipt)
		return
	}
	if t.Hashes[seq] != hash {
		tb.Errorf("the receipt %s was handed out, and entry %d is %q", receipt, seq, t.Hashes[seq])
	}
}
