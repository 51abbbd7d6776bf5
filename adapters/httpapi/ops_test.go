package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	f := setup(t)
	if m := f.call("GET", "/healthz", "", "").json(t, 200); m["status"] != "ok" {
		t.Errorf("%v", m)
	}
	f.call("GET", "/readyz", "", "").json(t, 200)
	f.health.down = true
	a := f.call("GET", "/readyz", "", "")
	if p := a.problem(t, 503); strings.Contains(p.Error, "disk") || a.header.Get("Retry-After") == "" {
		t.Errorf("%+v", p)
	}
	f.call("GET", "/healthz", "", "").json(t, 200)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	f := setup(t)
	if a := f.call("GET", "/metrics", "", ""); a.status != 200 || string(a.body) != "writ_runs 1\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	g := setup(t, func(p *httpapi.Params) { p.Config.MetricsAuth = true })
	g.call("GET", "/metrics", "", "").problem(t, 401)
	if a := g.call("GET", "/metrics", "viewer", ""); a.status != 200 {
		t.Errorf("%d", a.status)
	}
}

// TestPagesLoadNothingFromElsewhere checks the addresses in the pages.
func TestPagesLoadNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ref := regexp.MustCompile(`(?:src|href)="([^"]+)"`)
	for _, path := range []string{"/docs"} {
		a := f.call("GET", path, "", "")
		if a.status != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Fatalf("%s: %d %v", path, a.status, a.header)
		}
		if csp := a.header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") {
			t.Errorf("%s: %s", path, csp)
		}
		if strings.Contains(string(a.body), "style=") || strings.Contains(string(a.body), "<script>") ||
			strings.Contains(string(a.body), "<style") {
			t.Errorf("%s: inline code, which the policy forbids", path)
		}
		links := ref.FindAllStringSubmatch(string(a.body), -1)
		if len(links) < 3 {
			t.Errorf("%s: %v", path, links)
		}
		for _, l := range links {
			if !strings.HasPrefix(l[1], "/") || strings.HasPrefix(l[1], "//") {
				t.Errorf("%s loads %s", path, l[1])
				continue
			}
			if got := f.call("GET", l[1], "", ""); got.status != 200 {
				t.Errorf("%s: %s is %d", path, l[1], got.status)
			}
		}
	}
}

func TestPackedAssets(t *testing.T) {
	t.Parallel()
	f := setup(t)
	a := f.call("GET", "/docs/swagger-ui-bundle.js", "", "", "Accept-Encoding", "gzip")
	if a.header.Get("Content-Encoding") != "gzip" || a.header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Fatalf("%v", a.header)
	}
	z, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	plain := f.call("GET", "/docs/swagger-ui-bundle.js", "", "")
	if plain.header.Get("Content-Encoding") != "" || !bytes.Equal(plain.body, unpacked) || len(unpacked) < 1<<20 {
		t.Errorf("%d bytes plain, %d unpacked", len(plain.body), len(unpacked))
	}
	for _, path := range []string{"/docs/ui.html", "/docs/..%2Froutes.go", "/docs/swagger-ui.css.gz", "/docs/x"} {
		f.call("GET", path, "", "").problem(t, 404)
	}
	if l := f.call("GET", "/docs/LICENSE.swagger-ui.txt", "", ""); !strings.Contains(string(l.body), "Apache License") {
		t.Error("the licence is not served")
	}
}
