package compose

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// demoOf starts a demo.
func demoOf(t *testing.T) started {
	t.Helper()
	s := sampleSettings(t)
	s.OIDC, s.SAML, s.DrainTimeout = OIDC{}, SAML{}, time.Second
	s.Announce = &strings.Builder{}
	d, err := NewDemo(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := d.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		if _, err := os.Stat(d.Dir); !os.IsNotExist(err) {
			t.Errorf("the directory is still there: %v", err)
		}
	})
	return started{Server: d.Server, url: "http://" + d.Addr()}
}

// TestDemoHasEverything finds a run of each state, and objects of every kind.
func TestDemoHasEverything(t *testing.T) {
	t.Parallel()
	d := demoOf(t)
	for _, status := range runs.Statuses() {
		var list struct {
			Runs []struct{ ID string }
		}
		code, body := d.get(t, "/v1/runs?status="+string(status), "")
		if err := json.Unmarshal([]byte(body), &list); err != nil || code != http.StatusOK || len(list.Runs) == 0 {
			t.Errorf("no run is %s: %d %v", status, code, err)
		}
	}
}
