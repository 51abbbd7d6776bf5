package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// executed matches the blocks of a page that are marked as executed.
var executed = regexp.MustCompile("(?s)<!-- executed -->\n```sh\n(.*?)```\n")

// defaultAddress is the address of the server in the pages.
const defaultAddress = "http://127.0.0.1:8080"

// prepared returns a server and a directory that looks as "make run" leaves it. Other users cannot enter the directory
// above, as in the home of root.
func prepared(t *testing.T) (*harness.Server, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, harness.Options{Flags: []string{"--work-dir", dir, "--local-projects",
		filepath.Join(dir, "repos")}})
	for _, d := range []string{"bin", ".writ", "repos"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Symlink(harness.Binary(t), filepath.Join(dir, "bin", "writ")),
		os.CopyFS(filepath.Join(dir, "docs"), os.DirFS(root(t, "docs"))),
		os.WriteFile(filepath.Join(dir, ".writ", "token"), []byte(s.Token+"\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	smallSite(t, filepath.Join(dir, "docs", "examples", "site"))
	return s, dir
}

// TestPagesAreExecuted executes the commands of each page on a server of its own: every command succeeds, and no answer
// is a refusal.
func TestPagesAreExecuted(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"README.md", "docs/guides/getting-started.md", "docs/guides/runs.md", "docs/guides/accounts.md",
		"docs/reference/cli.md",
		"docs/guides/projects.md", "docs/guides/inventories.md", "docs/guides/templates.md", "docs/guides/schedules.md",
		"docs/guides/triggers.md",
		"docs/guides/approvals.md", "docs/guides/windows.md", "docs/guides/doctor.md", "docs/guides/drift.md",
		"docs/guides/catalog-as-code.md", "docs/guides/credentials.md", "docs/guides/import.md",
		"docs/guides/notifications.md", "docs/guides/ansible.md",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			var script strings.Builder
			for _, m := range executed.FindAllStringSubmatch(page(t, path), -1) {
				script.WriteString(m[1])
			}
			if !strings.Contains(script.String(), defaultAddress) {
				t.Fatal("no block is marked, or none says where the server is")
			}
			s, dir := prepared(t)
			cmd := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c",
				"curl() { command curl --fail-with-body \"$@\"; }\n"+strings.ReplaceAll(script.String(), defaultAddress, s.URL))
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
