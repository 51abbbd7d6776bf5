package extensions

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// commands is a block of a page with the two commands that build and serve a plugin.
var commands = regexp.MustCompile("(?m)^```sh\n(.*go build .*)\nwrit serve (.*)\n```$")

// TestExamplePlugins builds and serves each example of a plugin with the commands of its page, in another directory.
func TestExamplePlugins(t *testing.T) {
	t.Parallel()
	for page, want := range map[string][]string{
		"docs/reference/plugins.md":        {"plugin", "tool", "notifier", "secret_engine"},
		"docs/examples/opentofu/README.md": {"opentofu", "tool"},
	} {
		top := filepath.Join("..", "..")
		text, err := os.ReadFile(filepath.Join(top, page))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		found := commands.FindStringSubmatch(strings.ReplaceAll(string(text), "/usr/local/lib/writ/plugins", dir))
		if found == nil {
			t.Fatalf("%s has no two commands", page)
		}
		build := exec.CommandContext(t.Context(), "sh", "-c", found[1])
		build.Dir = top
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", found[1], err, out)
		}
		s := harness.Start(t, harness.Options{Flags: strings.Fields(found[2]), Env: []string{harness.WithoutPrograms}})
		if e := extensionsOf(t, s)[want[0]]; e.State != "running" || !slices.Equal(e.Kinds, want[1:]) {
			t.Errorf("%s: %+v\n%s", page, e, s.Do(http.MethodGet, "/v1/extensions", nil).Body)
		}
		s.Stop()
	}
}
