package policies

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// races enables and disables a policy while others submit. After an answer that it is enabled no run is made without a
// hold until it is disabled again. The order of the trail is the order in which both were committed.
func (w *fixture) races() {
	body := harness.Body{"name": "race", "effect": "require_approval", "enabled": false,
		"match": harness.Body{"labels": harness.Body{"case": "race"}}}
	policy := w.made("/v1/policies", body)
	first := w.entries()[0].Seq
	// Each round counts runs of its own, since a list counts no more than ten thousand.
	var round atomic.Int64
	run := func() harness.Body {
		return w.script("race", harness.Body{"queue": parked, "labels": harness.Body{"case": "race",
			"round": strconv.FormatInt(round.Load(), 10)}})
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if a, err := w.Try("POST", "/v1/runs", run()); err != nil || a.Status != http.StatusCreated {
					w.t.Errorf("submit: %v %d %s", err, a.Status, a.Body)
					return
				}
			}
		})
	}
	end := sync.OnceFunc(func() { close(stop); group.Wait() })
	defer end()
	unheld := func() (n int) {
		_, n = w.Runs("status=pending&limit=1&q=label:round=" + strconv.FormatInt(round.Load(), 10))
		return n
	}
	for range depthtest.Of(6, 100) {
		round.Add(1)
		body["enabled"] = true
		w.want(http.StatusOK, w.Client, "PUT", "/v1/policies/"+policy, body)
		before := unheld()
		w.hold("/v1/runs", run())
		if now := unheld(); now != before {
			w.t.Errorf("%d runs were not held after the policy was in force", now-before)
		}
		body["enabled"] = false
		w.want(http.StatusOK, w.Client, "PUT", "/v1/policies/"+policy, body)
		before = unheld()
		harness.Eventually(w.t, time.Minute, "a run that is not held", func() bool { return unheld() > before })
	}
	end()
	w.inOrder(first, policy)
}

// inOrder checks each submission since an entry against the changes of the policy before it.
func (w *fixture) inOrder(first int64, policy string) {
	w.t.Helper()
	var list []entry
	held := map[string]bool{}
	for before := ""; ; {
		var p struct {
			Entries []entry
			Next    int64 `json:"next_before"`
		}
		w.want(http.StatusOK, w.Client, "GET", "/v1/audit?limit=1000"+before, nil).JSON(w.t, &p)
		list = append(list, p.Entries...)
		if p.Next == 0 || p.Next <= first {
			break
		}
		before = "&before=" + strconv.FormatInt(p.Next, 10)
	}
	slices.Reverse(list)
	for _, e := range list {
		if e.Action == "run.hold" {
			held[e.Object.ID] = true
		}
	}
	enabled, submitted := false, 0
	for _, e := range list {
		switch {
		case e.Seq <= first || e.Outcome != "applied":
		case e.Object.ID == policy:
			enabled = !enabled
		case e.Action == "run.submit" && e.Details["queue"] == parked: // not one of a schedule
			submitted++
			if held[e.Object.ID] != enabled {
				w.t.Errorf("entry %d: held %v, while the policy was enabled: %v", e.Seq, held[e.Object.ID], enabled)
			}
		}
	}
	if submitted == 0 {
		w.t.Error("nothing was submitted")
	}
}
