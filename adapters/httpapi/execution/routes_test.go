package execution_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	executionapi "github.com/writ-automation/writ/adapters/httpapi/execution"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
)

// TestMain checks that no server outlives the tests.
func TestMain(m *testing.M) { httpapitest.Main(m) }

type fleet []execution.Worker

func (f fleet) Workers(context.Context, page.Window) ([]execution.Worker, int, error) {
	return f, len(f), nil
}

// TestWorkers checks that labels appear only for workers that have some.
func TestWorkers(t *testing.T) {
	t.Parallel()
	seen := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	s := httpapitest.Serve(t, httpapi.Config{Version: "1"}, executionapi.New(executionapi.Params{
		Tokens: &tokens{}, Fleet: fleet{
			{
				Name: execution.RelayPrefix + "edge", Kind: execution.RelayWorker, Queues: []string{"default"}, Executors: 4,
				Running: 1, Version: "1.0.0",
				Labels: map[string]string{"site": "berlin", "rack": ""}, SeenAt: seen, Fresh: true,
			},
			{Name: "wkr_1", Kind: execution.ServerWorker, Queues: []string{}, Labels: map[string]string{}, SeenAt: seen},
		}}))
	s.Call(http.MethodGet, "/v1/workers", "viewer", "").Is(200, `{"workers":[
		{"name":"edge","kind":"relay","queues":["default"],"executors":4,"running":1,"version":"1.0.0",
			"labels":{"site":"berlin","rack":""},"last_seen_at":"2026-05-01T12:00:00Z","fresh":true},
		{"name":"wkr_1","kind":"server","queues":[],"executors":0,"running":0,"version":"","last_seen_at":"2026-05-01T12:00:00Z","fresh":false}
	],"count":2,"total":2,"limit":1000}`)
	s.Call(http.MethodGet, "/v1/workers", "", "").Problem(401, "bad_token")
}
