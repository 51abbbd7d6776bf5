package audittools

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// steps reads the commands of VERIFY.txt, by the name of their step, in their order.
func steps(t *testing.T, text string) (names []string, commands map[string]string) {
	t.Helper()
	commands = map[string]string{}
	for _, part := range strings.Split(text, "\n## step ")[1:] {
		title, script, ok := strings.Cut(part, "\n")
		name, _, named := strings.Cut(title, ":")
		if !ok || !named || commands[name] != "" {
			t.Fatalf("the step %q has no name of its own", title)
		}
		names, commands[name] = append(names, name), script
	}
	return names, commands
}

// shell runs a script as a reader with the file, a shell and Go would. Modules come from this machine's usual source.
func shell(t *testing.T, dir, script string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	// The script builds the tools, and nothing is compiled twice.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// write writes the files of an archive into a new directory.
func write(t *testing.T, files map[string][]byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, data := range files {
		keep(t, dir, name, data)
	}
	return dir
}

// keep writes a file below a directory.
func keep(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// stamped is the zip of a real server with a time stamp of an authority on its head, and the authority's certificate.
func stamped(t *testing.T) map[string][]byte {
	t.Helper()
	s := harness.Start(t, harness.Options{})
	for i := range 300 { // a full tile, and one that is not
		if a := s.Do(http.MethodPost, "/v1/tokens",
			harness.Body{"name": fmt.Sprintf("t%d", i)}); a.Status != http.StatusCreated {
			t.Fatalf("a token: %d %s", a.Status, a.Body)
		}
	}
	authority := harness.NewAuthority(t)
	cmd := exec.CommandContext(t.Context(), harness.Binary(t), "audit", "anchor", "--tsa", authority.URL, "--db", s.DB,
		"--data-dir", filepath.Join(s.Dir, "data"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files := unzip(t, get(t, s, "/v1/audit/bundle?format=tiles"))
	files["tsa.pem"] = readFile(t, authority.CA)
	return files
}

// TestInstructions runs each step of VERIFY.txt over the zip of a real server, and again with one changed byte in one
// file, which the step has to refuse.
func TestInstructions(t *testing.T) {
	t.Parallel()
	files := stamped(t)
	names, commands := steps(t, string(files["VERIFY.txt"]))
	if len(names) != 5 || !slices.Equal(names[:4], []string{"files", "signature", "fsck", "go"}) ||
		!strings.HasPrefix(names[4], "time-anc_") {
		t.Fatalf("VERIFY.txt has the steps %q", names)
	}
	dir := write(t, files)
	for _, name := range names {
		if out, err := shell(t, dir, commands[name]); err != nil {
			t.Errorf("step %s: %v\n%s", name, err, out)
		}
	}
	// The whole text is a script too, and can be run twice.
	if out, err := shell(t, dir, ". ./VERIFY.txt"); err != nil {
		t.Errorf("VERIFY.txt as a script: %v\n%s", err, out)
	}
	anchor := "anchors/" + strings.TrimPrefix(names[4], "time-")
	tile, entries := "tile/0/001.p/"+partial(t, files), "tile/entries/001.p/"+partial(t, files)
	for step, spoiled := range map[string][]string{
		"files":     slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return name == "tsa.pem" }),
		"signature": {"checkpoint", "key.pem"},
		// With a changed tile fsck may not end; TestServer covers changed tiles in every run.
		"fsck":   depthtest.Of([]string{"checkpoint", "vkey"}, []string{"checkpoint", "vkey", "tile/entries/000", tile}),
		"go":     {"checkpoint", "vkey", "tile/entries/000", entries},
		names[4]: {anchor + ".note", anchor + ".tsr"},
	} {
		for _, name := range spoiled {
			bad := bytes.Clone(files[name])
			at := len(bad) / 2
			if strings.HasSuffix(name, ".tsr") {
				at = len(bad) - 1 // its middle is an unused certificate
			}
			bad[at] ^= 1
			keep(t, dir, name, bad)
			// A user of fsck waits longer.
			script := strings.Replace(commands[step], "timeout 600", "timeout 8", 1)
			if out, err := shell(t, dir, script); err == nil {
				t.Errorf("step %s takes another %s:\n%s", step, name, out)
			}
			keep(t, dir, name, files[name])
		}
		if out, err := shell(t, dir, commands[step]); err != nil {
			t.Errorf("step %s, with everything as it was: %v\n%s", step, err, out)
		}
	}
}

// partial is the width of the last, partial tile.
func partial(t *testing.T, files map[string][]byte) string {
	t.Helper()
	for name := range files {
		if width, ok := strings.CutPrefix(name, "tile/entries/001.p/"); ok {
			return width
		}
	}
	t.Fatal("there is no tile that is not full")
	return ""
}
