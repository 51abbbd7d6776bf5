package httpapi_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	runsapi "github.com/writ-automation/writ/adapters/httpapi/runs"
)

func BenchmarkRequests(b *testing.B) {
	f, g := &fake{}, &guard{}
	res, err := httpapi.New(httpapi.Params{
		Authenticator: g, Authorizer: g, Log: slog.New(slog.DiscardHandler), IDs: &counter{}, Unit: httpapitest.Unit{},
		Recorder: &chain{},
		Routes: []httpapi.Routes{runsapi.New(runsapi.Params{Submitter: f, Controller: f, Approver: f, Reader: f,
			Streamer: f, Tickets: f, Trail: &chain{}, Clock: wall{}})},
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, c := range map[string]struct{ method, path, body string }{
		"get":  {"GET", "/v1/runs/" + knownRun, ""},
		"list": {"GET", "/v1/runs?limit=10&status=failed", ""},
		"submit": {"POST", "/v1/runs",
			`{"tool":"bash","command":"echo hi","extra_vars":{"version":"1.4.2","n":3},"labels":{"team":"web"}}`},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
				req.Header.Set("Authorization", "Bearer admin")
				rec := httptest.NewRecorder()
				res.Handler.ServeHTTP(rec, req)
				if rec.Code >= 300 {
					b.Fatal(rec.Code, rec.Body)
				}
			}
		})
	}
}
