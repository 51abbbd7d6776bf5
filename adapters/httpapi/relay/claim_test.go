package relay_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	relayapi "github.com/writ-automation/writ/adapters/httpapi/relay"
	"github.com/writ-automation/writ/platform/httpserver"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

const claimBody = `{"worker":{"name":"edge","executors":2},"wait_seconds":30}`

func TestClaim(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const note = "origin\n7\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n— origin az3grlgtzPIC\n"
	inBase64 := base64.StdEncoding.EncodeToString([]byte(note))
	bare := `{"run":{"id":"` + held +
		`","kind":"single","status":"running","tool":"bash","command":"true","queue":"default","extra_vars":{"n":1.0},
		"epoch":3,"begun":false,"cancel_requested":false,"created_at":"2026-05-01T12:00:00Z","log_bytes":0},
		"capability":"` + capability + `","lease_seconds":30,"policies_etag":"\"t4g\""`
	for _, c := range []struct {
		grant        *execution.Grant
		head, header string
		status       int
		body         string
	}{
		{nil, "", "", 204, ""},
		{nil, note, inBase64, 204, ""},
		{&execution.Grant{Run: run(), Capability: capability, Lease: runs.LeaseTTL}, note, inBase64, 200, bare + "}"},
		{&execution.Grant{Run: run(), Capability: capability, Lease: runs.LeaseTTL, Secrets: full()}, "", "", 200,
			bare + `,"secrets":{
			"env":{"TOKEN":"C4naryEnv"},"extra_vars":{"v":"C4naryVar"},"files":[{"name":"f","content":"QzRuYXJ5RmlsZQ=="}],
			"keys":[{"private_key":"C4naryKey","comment":"k"}],
			"login":{"user":"root","password":"C4naryPass","become_password":"C4naryBecome","vaults":[{"id":"v","password":"C4naryVault"}]},"hide":["C4naryHide"]}}`},
	} {
		f.plane.claims(func(context.Context, execution.RelayClaim) (*execution.Grant, string, error) {
			return c.grant, c.head, nil
		})
		// The call has no capability, since the claim creates it.
		a := f.Call("POST", "/relay/v1/claim", workerToken, claimBody).Is(c.status, c.body).
			Has(execution.HeadHeader, c.header).Has("Cache-Control", "no-store").Has("X-Content-Type-Options", "nosniff").
			Has("Audit-Receipt", "")
		if _, there := a.Header[execution.HeadHeader]; there != (c.head != "") {
			t.Errorf("%v", a.Header)
		}
		if c.grant == nil {
			continue
		}
		var g execution.RelayGrant // what the other end makes of it
		if err := json.Unmarshal([]byte(a.Body), &g); err != nil || g.Run.Record().ID != held {
			t.Errorf("%v: %+v", err, g.Run)
		}
	}
	f.plane.claims(func(_ context.Context, c execution.RelayClaim) (*execution.Grant, string, error) {
		if !c.Cancels || len(c.Canceling) != 1 || c.Canceling[0] != "run_1" {
			t.Errorf("asked is %+v", c)
		}
		return &execution.Grant{CancelRequested: []string{held}}, "", nil
	})
	f.Call("POST", "/relay/v1/claim", workerToken,
		`{"worker":{"name":"edge","executors":2},"wait_seconds":30,"cancels":true,"canceling":["run_1"]}`).
		Is(200, `{"cancel_requested":["`+held+`"]}`)
	unsent := full()
	unsent.ExtraVars["f"] = func() {}
	f.plane.claims(func(context.Context, execution.RelayClaim) (*execution.Grant, string, error) {
		return &execution.Grant{Run: run(), Capability: capability, Secrets: unsent}, note, nil
	})
	f.Call("POST", "/relay/v1/claim", workerToken, claimBody).Problem(500, "internal")
}

// serving is the API behind the server that the product listens with.
type serving struct {
	*httpserver.Server
	log *httpapitest.Log
}

func serve(t *testing.T, s *fakePlane, config httpserver.Config) *serving {
	t.Helper()
	out := &serving{log: &httpapitest.Log{}}
	res, err := httpapi.New(httpapi.Params{
		Config: httpapi.Config{Version: "1", WorkerToken: workerToken}, Authenticator: httpapitest.Guard{},
		Authorizer: httpapitest.Guard{},
		Log:        slog.New(slog.NewJSONHandler(out.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		IDs:        httpapitest.IDs{}, Unit: httpapitest.Unit{}, Recorder: &httpapitest.Recorder{},
		Routes: []httpapi.Routes{relayapi.New(params(s))},
	})
	if err != nil {
		t.Fatal(err)
	}
	config.Addr = "127.0.0.1:0"
	out.Server = httpserver.New(config, slog.New(slog.DiscardHandler))
	if err := out.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	out.Serve(res.Handler, func(err error) { t.Errorf("serving ended: %v", err) })
	t.Cleanup(func() { out.end(t) })
	return out
}

func (s *serving) end(t *testing.T) {
	t.Helper()
	if err := s.End(context.Background()); err != nil {
		t.Errorf("end: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// claim requests a run and returns the status, 0 if the client disconnected.
func (s *serving) claim(ctx context.Context, t *testing.T) int {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.Addr().String()+"/relay/v1/claim",
		strings.NewReader(claimBody))
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+workerToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestWaitingClaims checks that many waiting claims at once outlive all timeouts of other requests.
func TestWaitingClaims(t *testing.T) {
	t.Parallel()
	const many, limit = 200, 3 * time.Second // within which a busy machine sends 200 requests
	plane := newFakePlane()
	var arrived sync.WaitGroup
	arrived.Add(many)
	release := make(chan struct{})
	plane.claims(func(ctx context.Context, _ execution.RelayClaim) (*execution.Grant, string, error) {
		arrived.Done()
		select {
		case <-release:
			return nil, "", nil
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	})
	s := serve(t, plane, httpserver.Config{HeaderTimeout: limit, BodyTimeout: limit, IdleTimeout: limit,
		StallTimeout: limit})
	var work sync.WaitGroup
	for range many {
		work.Go(func() {
			if got := s.claim(t.Context(), t); got != 204 {
				t.Errorf("a claim that waited: %d", got)
			}
		})
	}
	arrived.Wait()
	time.AfterFunc(limit+limit/2, func() { close(release) })
	work.Wait()
	s.end(t)
	if n := strings.Count(s.log.String(), `"route":"/relay/v1/claim","status":204`); n != many {
		t.Errorf("%d lines in the log", n)
	}
}

// TestClaimEndsWithItsClient checks that a claim ends when its client disconnects or its server stops.
func TestClaimEndsWithItsClient(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"client", "server"} {
		plane := newFakePlane()
		waiting, ended := make(chan struct{}), make(chan error, 1)
		plane.claims(func(ctx context.Context, _ execution.RelayClaim) (*execution.Grant, string, error) {
			close(waiting)
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, "", ctx.Err()
		})
		s := serve(t, plane, httpserver.Config{EndGrace: 50 * time.Millisecond})
		ctx, leave := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { s.claim(ctx, t) })
		<-waiting
		if who == "client" {
			leave()
		} else {
			s.end(t)
		}
		if err := <-ended; err == nil {
			t.Errorf("%s: the wait ended without its context", who)
		}
		leave()
		work.Wait()
		if who == "client" {
			s.end(t)
		}
		if log := s.log.String(); !strings.Contains(log, `"reason":"client_gone"`) ||
			strings.Contains(log, `"level":"ERROR"`) {
			t.Errorf("%s: log: %s", who, log)
		}
	}
}
