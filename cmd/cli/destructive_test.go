package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
)

// everythingServer has one object of each kind, and the environment has a context; written returns the requests that
// would change something.
func everythingServer(t *testing.T) (environ []string, written func() []string) {
	t.Helper()
	var mu sync.Mutex
	var writes []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodGet {
			writes = append(writes, r.Method+" "+r.URL.Path)
		}
		row := obj{"id": "x_1", "name": "web", "username": "web", "host": "web", "change": "web", "task": "web"}
		for _, o := range apidoc.Operations() {
			if o.Method == http.MethodGet && o.Path == r.URL.Path && o.List != "" {
				row = obj{o.List: []obj{row}, "count": 1, "total": 1}
				break
			}
		}
		_ = json.NewEncoder(w).Encode(row)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "writ"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "writ", "config.yaml"), []byte("contexts: {web: {server: 'http://x'}}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"WRIT_SERVER=" + s.URL, "XDG_CONFIG_HOME=" + dir}, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return writes
	}
}

// wordsOf are those that call a command.
func wordsOf(c *cobra.Command) []string { return strings.Fields(c.CommandPath())[1:] }

// TestDestructiveCommandsAsk: a command that takes away what cannot be brought back asks, or needs --yes.
func TestDestructiveCommandsAsk(t *testing.T) {
	t.Parallel()
	const elsewhere = "-" // what is asked depends on more: other tests show it
	destructive := map[string]string{
		"credential delete": "web", "credential-type delete": "web", "dead-letter delete": "web",
		"drift ignore delete": "web", "grant delete": "web", "inventory delete": "web", "org delete": "web",
		"org remove": "web web", "policy delete": "web", "project delete": "web", "schedule delete": "web",
		"source delete": "web", "team delete": "web", "team remove": "web web", "template delete": "web",
		"token delete": "web", "token revoke": "web", "trigger delete": "web", "trigger rotate-secret": "web",
		"user delete": "web", "window delete": "web", "worker token delete": "web", "worker-token delete": "web",
		"context delete": "web", "audit erase": "--seq 1,2 --ground gdpr_17", "audit key rotate": "",
		"audit accept-rollback": "--reason x", "approve": "a b", "reject": "a b", "cancel": "a b",
		"run approve": "a b", "run reject": "a b", "run cancel": "a b",
		"apply": elsewhere, "token reset-admin": elsewhere,
	}
	environ, written := everythingServer(t)
	try := nounCall(t, "", environ...)
	eachCommand(rootCommand(environment{}), func(c *cobra.Command) {
		words := wordsOf(c)
		name := strings.Join(words, " ")
		given, listed := destructive[name]
		if asks := c.Flag("yes") != nil; asks != listed {
			t.Errorf("writ %s: asks %v, listed %v", name, asks, listed)
		}
		verbs := strings.Split(c.Name(), "-")
		if slices.ContainsFunc(verbs, func(v string) bool {
			return slices.Contains([]string{"delete", "remove", "revoke", "erase", "rotate", "purge", "reset", "prune"}, v)
		}) && !listed {
			t.Errorf("writ %s is not listed", name)
		}
		delete(destructive, name)
		if !listed || given == elsewhere {
			return
		}
		code, out, errs := try(append(words, strings.Fields(given)...)...)
		if code != exitUsage || out != "" || !strings.HasSuffix(errs, "without a terminal: give --yes\n") {
			t.Errorf("writ %s %s: %d %q %q", name, given, code, out, errs)
		}
	})
	for name := range destructive {
		t.Errorf("there is no writ %s", name)
	}
	if w := written(); w != nil {
		t.Errorf("wrote %q", w)
	}
	team, user := "team_"+strings.Repeat("1", 26), "usr_"+strings.Repeat("2", 26)
	_, _, errs := try("team", "remove", team, user)
	if !strings.HasPrefix(errs, "writ: remove "+user+" from the team "+team+": ") {
		t.Errorf("%q", errs)
	}
	if code, _, errs := try("trigger", "rotate-secret", "web", "--yes"); code != exitDone ||
		!slices.Equal(written(), []string{"POST /v1/triggers/x_1/rotate-secret"}) {
		t.Errorf("%d %s %q", code, errs, written())
	}
	if code, out, errs := try("context", "delete", "web", "-y"); code != exitDone || out != "deleted web\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
}
