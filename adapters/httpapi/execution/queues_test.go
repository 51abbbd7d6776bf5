package execution_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	executionapi "github.com/writ-automation/writ/adapters/httpapi/execution"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// queues knows every queue but "none".
type queues struct{ asked []string }

func (q *queues) Queue(_ context.Context, name string) (execution.Queue, error) {
	if name == "none" {
		return execution.Queue{}, runs.QueueNotFound.New("no queue %q", name)
	}
	return execution.Queue{Name: name, MaxConcurrent: 3, Pending: 2, Running: 1, Workers: 4}, nil
}

func (q *queues) Queues(_ context.Context, w page.Window) ([]execution.Queue, int, error) {
	q.asked = append(q.asked, fmt.Sprintf("list %+v", w))
	return []execution.Queue{{Name: "default"}}, 7, nil
}

func (q *queues) LimitQueue(_ context.Context, name string, n int) (execution.Queue, error) {
	q.asked = append(q.asked, fmt.Sprintf("limit %s %d", name, n))
	if name == "a b" {
		return execution.Queue{}, fault.BadField("name", "is not the name of a queue")
	}
	return execution.Queue{Name: name, MaxConcurrent: n}, nil
}

func serveQueues(t *testing.T, c httpapi.Config) (*httpapitest.Server, *queues) {
	t.Helper()
	q := &queues{}
	c.Version = "1"
	return httpapitest.Serve(t, c,
		executionapi.New(executionapi.Params{Fleet: fleet{}, Tokens: &tokens{}, Queues: q})), q
}

func TestQueues(t *testing.T) {
	t.Parallel()
	s, q := serveQueues(t, httpapi.Config{})
	for _, who := range []string{"viewer", "operator", "admin"} {
		s.Call(http.MethodGet, "/v1/queues/dmz", who, "").
			Is(200, `{"name":"dmz","max_concurrent":3,"pending":2,"running":1,"workers":4}`)
		s.Call(http.MethodGet, "/v1/queues?limit=1&offset=2", who, "").Is(200, `{"queues":[
			{"name":"default","max_concurrent":0,"pending":0,"running":0,"workers":0}],"count":1,"total":7,"limit":1}`)
	}
	s.Call(http.MethodGet, "/v1/queues/none", "viewer", "").Problem(404, "queue_not_found")
	s.Call(http.MethodGet, "/v1/queues/site%2Fberlin:1", "viewer", "").
		Is(200, `{"name":"site/berlin:1","max_concurrent":3,"pending":2,"running":1,"workers":4}`)
	for path, n := range map[string]int{"/v1/queues/dmz": 0, "/v1/queues/site%2Fberlin:1": 10_000} {
		q.asked = nil
		s.Call(http.MethodPut, path, "admin", fmt.Sprintf(`{"max_concurrent":%d}`, n))
		name := map[string]string{"/v1/queues/dmz": "dmz"}[path]
		if name == "" {
			name = "site/berlin:1"
		}
		if d := cmp.Diff([]string{fmt.Sprintf("limit %s %d", name, n)}, q.asked); d != "" {
			t.Error(d)
		}
	}
	if got := s.Call(http.MethodPut, "/v1/queues/a%20b", "admin", `{"max_concurrent":1}`).
		Problem(400, "invalid"); !slices.Equal(got, []string{"name"}) {
		t.Error(got)
	}
	for _, e := range s.Recorder.Entries() {
		t.Errorf("the routes record %+v", e)
	}
}

// TestQueuesByCaller: everyone reads them, admins limit them.
func TestQueuesByCaller(t *testing.T) {
	t.Parallel()
	s, q := serveQueues(t, httpapi.Config{WorkerToken: "the-shared-token-of-all-workers"})
	for _, who := range []string{"", "nobody", "the-shared-token-of-all-workers"} {
		for _, path := range []string{"/v1/queues", "/v1/queues/dmz", "/v1/queues/none"} {
			s.Call(http.MethodGet, path, who, "").Problem(401, "bad_token")
		}
		s.Call(http.MethodPut, "/v1/queues/dmz", who, `{"max_concurrent":1}`).Problem(401, "bad_token")
	}
	for _, who := range []string{"viewer", "operator"} {
		for _, body := range []string{`{"max_concurrent":1}`, `{`, ""} {
			s.Call(http.MethodPut, "/v1/queues/dmz", who, body).Problem(403, "forbidden")
		}
	}
	if len(q.asked) > 0 {
		t.Errorf("%q", q.asked)
	}
	s, q = serveQueues(t, httpapi.Config{ReadOnly: true})
	s.Call(http.MethodPut, "/v1/queues/dmz", "admin", `{"max_concurrent":1}`).Problem(403, "read_only")
	if len(q.asked) > 0 {
		t.Errorf("a server that only reads: %q", q.asked)
	}
}

func TestBadQueues(t *testing.T) {
	t.Parallel()
	s, q := serveQueues(t, httpapi.Config{})
	for body, at := range map[string]string{
		`{}`: "max_concurrent", `{"max_concurrent":null}`: "max_concurrent", `{"max_concurrent":-1}`: "max_concurrent",
		`{"max_concurrent":10001}`: "max_concurrent", `{"max_concurrent":1.5}`: "max_concurrent",
		`{"max_concurrent":"1"}`: "max_concurrent", `{"max_concurrent":99999999999999999999}`: "max_concurrent",
		`{"max_concurrent":1,"max_concurrent":2}`: "max_concurrent", `{"max_concurrent":1,"name":"b"}`: "name",
		`{"max_concurrent":1,"pending":0}`: "pending",
	} {
		where := s.Call(http.MethodPut, "/v1/queues/dmz", "admin", body).Problem(400, "invalid")
		if !slices.Contains(where, at) {
			t.Errorf("%s: %q", body, where)
		}
	}
	for _, body := range []string{"", "[]", "null", "7", `{"max_concurrent":1`} {
		if a := s.Call(http.MethodPut, "/v1/queues/dmz", "admin", body); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, a.Status, a.Body)
		}
	}
	s.Call(http.MethodGet, "/v1/queues?limit=-1", "viewer", "").Problem(400, "invalid")
	s.Call(http.MethodGet, "/v1/queues?nope=1", "viewer", "").Problem(400, "invalid")
	if len(q.asked) > 0 {
		t.Errorf("%q", q.asked)
	}
}
