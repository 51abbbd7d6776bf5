package relay

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// source makes a source of a script in a project, with a credential.
func (w *fixture) source(inventory, script string) string {
	w.t.Helper()
	project := w.made("/v1/projects", harness.Body{"name": "hosts", "branch": "main",
		"repo_url": w.repo("hosts", map[string]string{"hosts.sh": script})})
	return w.made("/v1/inventory-sources", harness.Body{"name": "hosts", "kind": "script", "project_id": project,
		"path": "hosts.sh", "inventory_id": inventory, "credential_id": w.credential("cmdb", canary)})
}

// TestSourcesOfWorkers has workers over the relay refresh a source of a server that executes nothing: one gets what it
// needs, and one that dies with a refresh is replaced.
// Keeps T43.
func TestSourcesOfWorkers(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, dbURL, "--source-queue", "sources", "--worker-queue", "*")
		inv := w.made("/v1/inventories", harness.Body{"name": "all", "format": "ini", "content": "old\n"})
		note := harness.SharedFile(t)
		src := w.source(inv, "#!/bin/bash\necho $BASHPID >>"+note+
			"\nprintf '{\"_meta\": {\"hostvars\": {\"new\": {\"uid\": \"%s\", \"file\": \"%s\", \"token\": \"%s\"}}}, '"+
			"'\"g\": [\"new\"]}' "+
			"$(id -u) $(wc -c <$WRIT_FILE_CONF) $THE_TOKEN\ntest $(wc -l <"+note+") != 1 || sleep 600 >/dev/null 2>&1\n")
		asked := make(chan harness.Answer, 1)
		go func() { asked <- w.Do(http.MethodPost, "/v1/inventory-sources/"+src+"/refresh", nil) }()
		first := w.worker("--name", "first", "--queue", "sources")
		harness.Eventually(t, time.Minute, "the first worker executes it", func() bool {
			b, err := os.ReadFile(note)
			return err == nil && bytes.Count(b, []byte("\n")) == 1
		})
		first.Kill()
		second := w.worker("--name", "second", "--queue", "sources")
		a := <-asked
		if a.Status != http.StatusOK || bytes.Contains(a.Body, []byte(canary)) {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		hosts := w.Do(http.MethodGet, "/v1/inventories/"+inv+"/hosts", nil).Body
		if !bytes.Contains(hosts, []byte(`"new"`)) || bytes.Contains(hosts, []byte(canary)) ||
			!bytes.Contains(hosts, []byte("***")) || bytes.Contains(hosts, []byte(`"uid":"0"`)) {
			t.Errorf("%s", hosts)
		}
		for _, p := range []string{w.Output(), first.Output(), second.Output()} {
			if bytes.Contains([]byte(p), []byte(canary)) {
				t.Error("a log tells the secret")
			}
		}
	})
}

// TestFailingSourcesOfWorkers has a worker refresh a source whose script fails: the source and the run that waited for
// it say the exit code and what the script said, without the secret.
func TestFailingSourcesOfWorkers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	w.worker("--name", "one")
	inv := w.made("/v1/inventories", harness.Body{"name": "all", "format": "ini", "content": "old\n"})
	src := w.made("/v1/inventory-sources", harness.Body{"name": "cmdb", "kind": "script", "update_on_launch": true,
		"config":       harness.Body{"content": "#!/bin/sh\necho \"cmdb: 401 for $THE_TOKEN\" >&2\nexit 3\n"},
		"inventory_id": inv, "credential_id": w.credential("cmdb", canary)})
	const want = "the program ended with exit code 3: cmdb: 401 for ***"
	a := w.Do(http.MethodPost, "/v1/inventory-sources/"+src+"/refresh", nil)
	var kept struct {
		LastError string `json:"last_error"`
	}
	w.Do(http.MethodGet, "/v1/inventory-sources/"+src, nil).JSON(t, &kept)
	if a.Status != http.StatusConflict || !strings.HasSuffix(kept.LastError, want) {
		t.Errorf("%d %s, kept %q", a.Status, a.Body, kept.LastError)
	}
	r := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "true", "inventory_id": inv}).ID)
	if !r.Warned("inventory_not_refreshed") || !strings.Contains(fmt.Sprint(r.Warnings), want) {
		t.Errorf("%v", r.Warnings)
	}
}

// TestLargeSourcesOfWorkers refreshes inventories near the largest size and above it, as without the relay. A refresh
// has two minutes, most of which a binary with the race detector needs, so that no test runs beside it.
func TestLargeSourcesOfWorkers(t *testing.T) { //nolint:paralleltest // see above
	w := newFixture(t, "")
	w.worker("--name", "one")
	inv := w.made("/v1/inventories", harness.Body{"name": "all", "format": "ini", "content": "old\n"})
	for name, c := range map[string]struct {
		bytes, status int
		says          string
	}{
		"near": {8<<20 - 1000, http.StatusOK, ""}, "above": {8 << 20, http.StatusConflict, "at most 8388608 are taken"},
	} {
		script := "#!/bin/sh\nprintf '{\"_meta\": {\"hostvars\": {\"new\": {\"x\": \"'\nhead -c " + strconv.Itoa(c.bytes) +
			" /dev/zero | tr '\\0' x\nprintf '\"}}}, \"g\": [\"new\"]}'\n"
		src := w.made("/v1/inventory-sources", harness.Body{"name": name, "kind": "script",
			"config": harness.Body{"content": script}, "inventory_id": inv})
		a := w.Do(http.MethodPost, "/v1/inventory-sources/"+src+"/refresh", nil)
		if a.Status != c.status || !bytes.Contains(a.Body, []byte(c.says)) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	var text struct{ Hosts int }
	if w.Do(http.MethodGet, "/v1/inventories/"+inv, nil).JSON(t, &text); text.Hosts != 1 {
		t.Errorf("%+v", text)
	}
}
