package ask

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/adapters/web"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

func TestMain(m *testing.M) { httpapitest.Main(m) }

type advisor struct{ ai.Advisor }

func (advisor) Enabled() bool { return true }

type clock struct{}

func (clock) Now() time.Time { return time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC) }

type reader struct{ runs.Reader }

func (reader) List(context.Context, runs.Filter) (*runs.List, error) { return &runs.List{}, nil }

func serve(t *testing.T, a ai.Advisor, config httpapi.Config) *httpapitest.Server {
	t.Helper()
	routes, err := web.New(web.Params{Runs: reader{}, Info: system.Info{Version: "1"}, Clock: clock{}, Advisor: a,
		Sections: []shell.Section{New()}})
	if err != nil {
		t.Fatal(err)
	}
	return httpapitest.Serve(t, config, routes)
}

// TestRoles: everybody asks, operators propose, and a server without a provider has no such page.
func TestRoles(t *testing.T) {
	t.Parallel()
	s := serve(t, advisor{}, httpapi.Config{})
	const menu, propose = `href="/ui/ai" aria-current="page"`, `action="/ui/do/propose-run"`
	for who, proposes := range map[string]bool{"viewer": false, "operator": true, "admin": true} {
		a := s.Call(http.MethodGet, "/ui/ai", who, "")
		if a.Status != http.StatusOK || !strings.Contains(a.Body, menu) || strings.Contains(a.Body, propose) != proposes ||
			!strings.Contains(a.Body, `name="question"`) {
			t.Errorf("%s: status %d: %s", who, a.Status, a.Body)
		}
	}
	if a := s.Call(http.MethodGet, "/ui/ai", "", ""); a.Status != http.StatusSeeOther {
		t.Errorf("a visitor gets %d", a.Status)
	}
	a := serve(t, nil, httpapi.Config{}).Call(http.MethodGet, "/ui/ai", "admin", "")
	if a.Status != http.StatusNotFound || !strings.Contains(a.Body, "has no AI provider") ||
		strings.Contains(a.Body, `href="/ui/ai"`) {
		t.Errorf("without a provider: status %d: %s", a.Status, a.Body)
	}
	a = serve(t, advisor{}, httpapi.Config{ReadOnly: true}).Call(http.MethodGet, "/ui/ai", "admin", "")
	if !strings.Contains(a.Body, `disabled title="`+readOnlyText+`"`) {
		t.Error("a read-only install offers a proposal")
	}
}
