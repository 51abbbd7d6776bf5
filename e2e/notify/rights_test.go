package notify

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestWhoReadsIt checks that the same callers may read a run and its notifications.
func TestWhoReadsIt(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newBareFixture(t, harness.Options{DB: dbURL})
		reader, readerToken := w.somebody("reader", "viewer")
		_, other := w.somebody("other", "viewer")
		w.id("/v1/grants", obj{"subject": "user:" + reader, "object": "queue:vault", "level": "read"})
		canceled := func(queue string) string {
			body := script("true", obj{"kind": "pagerduty", "key": "k"})
			body["queue"] = queue
			id := w.Submit(body).ID
			w.answer(http.StatusOK, http.MethodPost, "/v1/runs/"+id+"/cancel", nil)
			w.settled(id, 1)
			return id
		}
		open, shut := canceled("parked"), canceled("vault")
		for _, c := range []struct {
			who  string
			as   harness.Client
			run  string
			code int
		}{
			{"reader", readerToken, open, 200}, {"reader", readerToken, shut, 200}, {"other", other, open, 200},
			{"other", other, shut, 404},
			{"nobody", w.As(""), open, 401}, {"wrong", w.As("writ_x_y"), open, 401}, {"admin", w.Client, shut, 200},
			{"admin", w.Client, "run_00000000000000000000000000", 404}, {"admin", w.Client, "x", 404},
		} {
			path := "/v1/runs/" + c.run
			list := c.as.Do(http.MethodGet, path+"/notifications", nil)
			if run := c.as.Do(http.MethodGet, path, nil); list.Status != c.code || run.Status != c.code {
				t.Errorf("%s: %d for %s, and %d for whom it told: %s", c.who, run.Status, c.run, list.Status, list.Body)
			}
			if want := decoded(t, list.Body)["reason"]; c.code == 404 && want != "run_not_found" {
				t.Errorf("%s: the reason is %v", c.who, want)
			}
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			if a := w.Do(method, "/v1/runs/"+open+"/notifications", nil); a.Status != http.StatusMethodNotAllowed &&
				a.Status != http.StatusNotFound {
				t.Errorf("%s: %d", method, a.Status)
			}
		}
	})
}

// TestPages reads a long list in parts.
func TestPages(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newBareFixture(t, harness.Options{DB: dbURL})
		var targets []obj
		for i := range 23 {
			targets = append(targets, obj{"kind": "pagerduty", "key": fmt.Sprint("k", i)})
		}
		id := w.Submit(script("true", targets...)).ID
		w.ends(id, "succeeded")
		whole := w.settled(id, 23)
		type sheet struct {
			Notifications []notification
			Count, Total  int
			Limit         int
		}
		var got []notification
		for len(got) < len(whole) {
			var p sheet
			w.answer(http.StatusOK, http.MethodGet, fmt.Sprintf("/v1/runs/%s/notifications?limit=5&offset=%d", id, len(got)),
				nil).JSON(t, &p)
			if p.Count != len(p.Notifications) || p.Count != min(5, 23-len(got)) || p.Total != 23 || p.Limit != 5 {
				t.Fatalf("behind %d rows: %+v", len(got), p)
			}
			got = append(got, p.Notifications...)
		}
		for i := range whole {
			if got[i].ID != whole[i].ID {
				t.Errorf("row %d is %s in parts and %s at once", i, got[i].ID, whole[i].ID)
			}
		}
		for query, status := range map[string]int{"limit=-1": 400, "limit=x": 400, "offset=-1": 400, "sort=x": 400,
			"limit=100000": 200, "offset=1000": 200} {
			w.answer(status, http.MethodGet, "/v1/runs/"+id+"/notifications?"+query, nil)
		}
	})
}
