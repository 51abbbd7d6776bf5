package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/runs"
)

// demo is a running demo.
type demo struct {
	*process
	url, dir string
}

var (
	demoAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	demoDir     = regexp.MustCompile(`its directory (\S+) is removed`)
)

func startDemo(t *testing.T) demo {
	t.Helper()
	u := user{t: t}
	var d demo
	t.Cleanup(func() { // after the process was killed, which leaves its directory
		if err := os.RemoveAll(d.dir); err != nil {
			t.Error(err)
		}
	})
	p := u.start("demo", "--addr", "127.0.0.1:0")
	p.shows(p.out, "receipt-forged.json\n")
	d = demo{p, demoAddress.FindString(p.out.String()), demoDir.FindStringSubmatch(p.out.String())[1]}
	return d
}

// get reads a document of the demo.
func (d demo) get(path string, into any) {
	d.t.Helper()
	raw := d.raw(path)
	if err := json.Unmarshal(raw, into); err != nil {
		d.t.Fatalf("%s: %v\n%s", path, err, raw)
	}
}

func (d demo) raw(path string) []byte {
	d.t.Helper()
	code, raw := d.request(http.MethodGet, path, "")
	if code != http.StatusOK {
		d.t.Fatalf("%s: %d %s", path, code, raw)
	}
	return raw
}

func (d demo) request(method, path, body string) (int, []byte) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, raw
}

// shownRun is a run in a list.
type shownRun struct {
	ID, Name, Status, Kind string
	LogBytes               int64     `json:"log_bytes"`
	CreatedAt              time.Time `json:"created_at"`
}

func (d demo) runs(query string) []shownRun {
	d.t.Helper()
	var list struct{ Runs []shownRun }
	d.get("/v1/runs?"+query, &list)
	return list.Runs
}

// TestDemo looks at a demo as a visitor does, and ends it.
func TestDemo(t *testing.T) {
	t.Parallel()
	watch := clock.Start()
	empty := serverIn(t, t.TempDir(), "--open", "--addr", "127.0.0.1:0")
	empty.shows(empty.err, "msg=ready")
	serve := watch.Elapsed()
	watch = clock.Start()
	d := startDemo(t)
	t.Logf("an empty server was ready after %s, the demo after %s", serve, watch.Elapsed())
	code, body := d.request(http.MethodPost, "/v1/runs", `{"tool":"bash","command":"id"}`)
	if code != http.StatusForbidden || !strings.Contains(string(body), `"reason":"read_only"`) {
		t.Errorf("a change: %d %s", code, body)
	}
	for _, s := range runs.Statuses() {
		if len(d.runs("status="+string(s))) == 0 {
			t.Errorf("no run is %s", s)
		}
	}
	demoDrift(t, d)
	demoProject(t, d)
	demoReceipts(t, d, 1)
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := d.end(); code != 0 {
		t.Errorf("it ended with %d: %s", code, d.err)
	}
	if _, err := os.Stat(d.dir); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
}

// demoProject waits until the project is fetched.
func demoProject(t *testing.T, d demo) {
	t.Helper()
	var p struct{ Projects []struct{ ID string } }
	for deadline := time.Now().Add(waitTimeout); ; <-time.After(50 * time.Millisecond) {
		d.get("/v1/projects", &p)
		code, body := d.request(http.MethodGet, "/v1/projects/"+p.Projects[0].ID+"/files", "")
		if code == http.StatusOK && strings.Contains(string(body), "baseline.yml") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the project is not fetched: %d %s", code, body)
		}
	}
}

// demoDrift counts the hosts that drift, and those that were not checked.
func demoDrift(t *testing.T, d demo) {
	t.Helper()
	var drift struct {
		Resources []struct{ Host string }
		Coverage  []struct{ Unknown int }
	}
	d.get("/v1/drift", &drift)
	hosts, unchecked := map[string]bool{}, 0
	for _, r := range drift.Resources {
		hosts[r.Host] = true
	}
	for _, c := range drift.Coverage {
		if c.Unknown > 0 {
			unchecked++
		}
	}
	if len(hosts) != 23 || unchecked == 0 || unchecked > 20 {
		t.Errorf("%d hosts drift, %d were not checked", len(hosts), unchecked)
	}
}

// demoReceipts verifies the receipts of so many runs without the server, and the forged one.
func demoReceipts(t *testing.T, d demo, n int) {
	t.Helper()
	u := user{t: t}
	list := d.runs(fmt.Sprintf("limit=%d&status=succeeded", n))
	if len(list) != n {
		t.Errorf("%d runs succeeded, want %d", len(list), n)
	}
	for _, r := range list {
		file := filepath.Join(t.TempDir(), "receipt.json")
		if err := os.WriteFile(file, d.raw("/v1/runs/"+r.ID+"/receipt"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := u.do("audit", "verify", file); code != 3 { // intact, without a pinned key
			t.Errorf("the receipt of %s: %d\n%s%s", r.Name, code, out, errs)
		}
	}
	if code, out, _ := u.do("audit", "verify", filepath.Join(d.dir, "receipt.json")); code != 3 {
		t.Errorf("the receipt to try: %d\n%s", code, out)
	}
	code, out, errs := u.do("audit", "verify", filepath.Join(d.dir, "receipt-forged.json"))
	if code != 1 || !strings.Contains(out+errs, "at position 4") {
		t.Errorf("the forged receipt: %d\n%s%s", code, out, errs)
	}
}
