package contract

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestMetrics is T39: it checks that every metric of the contract that applies to this server exists, without any text
// of users.
func TestMetrics(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		s.Await(s.Submit(harness.Body{"tool": "bash", "command": "exit 1", "name": "a-private-name"}).ID)
		s.Await(s.Submit(harness.Body{"playbook": file(t, "p.yml", play), "inventory": file(t, "none", "")}).ID)
		for _, queue := range []string{"parked", "canary-of-a-queue", "canary.2"} {
			s.Submit(harness.Body{"tool": "bash", "command": "true", "queue": queue})
		}
		id := account(t, s, "reader", "viewer")
		created(t, s.Client, "/v1/grants", harness.Body{"subject": "user:" + id, "object": "queue:parked", "level": "read"})
		a := s.As("").Do(http.MethodGet, "/metrics", nil)
		text := string(a.Body)
		for _, series := range []string{
			`writ_runs{status="failed"} 1`, `writ_runs{status="pending"} 3`, `writ_runs{status="interrupted"} 0`,
			`writ_run_duration_seconds_count{outcome="failed",tool="bash"} 1`,
			`writ_run_duration_seconds_bucket{outcome="failed",tool="bash",le="`,
			`writ_queue_depth{queue="parked"} 1`, `writ_queue_oldest_seconds{queue="parked"} `,
			`writ_queue_depth{queue="other"} 2`, `writ_queue_depth{queue="default"} 0`,
			`writ_runs_without_hosts_total 1`,
			`writ_http_request_duration_seconds_count{code="201",method="POST",route="/v1/runs"} 5`,
			`writ_http_request_duration_seconds_count{code="200",method="GET",route="/v1/runs/{id}"} `,
			"writ_db_commits_total ", "writ_db_connections ", "go_goroutines ", "process_open_fds ",
		} {
			if !strings.Contains(text, "\n"+series) {
				t.Errorf("no %s", series)
			}
		}
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") || strings.Contains(text, "a-private-name") ||
			strings.Contains(text, "canary") ||
			strings.Contains(text, "run_") && strings.Contains(text, "run_0") {
			t.Errorf("%v, or text of users", a.Header)
		}
	})
}

// TestMetricsAuth checks that metrics require a token if that is configured.
func TestMetricsAuth(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--metrics-auth"}})
	refused(t, "metrics by nobody", s.As("").Do(http.MethodGet, "/metrics", nil), 401)
	s.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "parked"})
	if a := s.Do(http.MethodGet, "/metrics", nil); a.Status != 200 ||
		!strings.Contains(string(a.Body), `writ_queue_depth{queue="parked"} 1`) {
		t.Errorf("metrics with a token: %d %s", a.Status, a.Body)
	}
	launches := mint(t, s, account(t, s, "launcher", "admin"), harness.Body{"scopes": []string{"launch"}})
	refused(t, "metrics by a token that launches", s.As(launches).Do(http.MethodGet, "/metrics", nil), 403)
}

// TestPublicPages checks that the pages need no token and load nothing from other hosts.
func TestPublicPages(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	c := s.As("")
	link := regexp.MustCompile(`(?:src|href)="([^"]+)"`)
	for path, media := range map[string]string{
		"/healthz": "application/json", "/readyz": "application/json", "/openapi.json": "application/openapi+json",
		"/openapi.yaml": "application/openapi+yaml", "/docs": "text/html", "/ui/": "text/html", "/": "text/html",
	} {
		a := c.Do(http.MethodGet, path, nil)
		if a.Status != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), media) || a.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %v", path, a.Status, a.Header)
		}
		if media != "text/html" {
			continue
		}
		for _, l := range link.FindAllStringSubmatch(string(a.Body), -1) {
			switch target := l[1]; {
			case strings.Contains(target, "://") || strings.HasPrefix(target, "//"):
				t.Errorf("%s loads %s", path, target)
			case strings.HasPrefix(target, "/"):
				if got := c.Do(http.MethodGet, target, nil); got.Status != 200 {
					t.Errorf("%s leads to %s: %d", path, target, got.Status)
				}
			}
		}
	}
	for _, path := range []string{"/healthz?x=1", "/readyz?x=1"} {
		refused(t, path, c.Do(http.MethodGet, path, nil), 400)
	}
}
