package boundary_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/podmantest"
)

// TestContainer executes scripts in a container. Its variables of the environment are those of the whole process.
func TestContainer(t *testing.T) {
	image, env := podmantest.Image(t, podmantest.Account{}, "bash", "grep", "id", "sleep")
	name, value, _ := strings.Cut(env, "=")
	t.Setenv(name, value)
	w := newFixture(t, boundary.Namespaces)
	shown, hidden := filepath.Join(w.dir, "shown"), filepath.Join(w.dir, "shown", "hidden")
	write(t, filepath.Join(hidden, "key"), 0o644)
	write(t, filepath.Join(hidden, "open", "file"), 0o644)
	write(t, filepath.Join(shown, "file"), 0o644)
	p := boundary.Profile{Image: image, Show: []boundary.Path{{Name: shown}, {Name: shown, At: "/srv/there", Write: true},
		{Name: filepath.Join(hidden, "open")}},
		Hide: []string{hidden}, ReadOnly: true, NoNetwork: true, Processes: 16}
	must(t, w.b.Gives(p))
	out, code := w.in(t, p, `set -e; if export -p | grep WRIT_; then exit 1; fi
		test -e "$1/file" -a ! -e "$1/hidden/key" -a ! -e /srv/there/hidden/key -a -e "$1/hidden/open/file" -a ! -e /etc/shadow -a -d /srv/there
		test ! -e "$2"
		if (: >/x) 2>/dev/null || (: >"$1/x") 2>/dev/null; then exit 1; fi
		: >own; : >/tmp/a; test -e /var/tmp/a; test "$(grep -c : /proc/net/dev)" = 1
		id -un; ulimit -u; grep -E 'NoNewPrivs|Seccomp:|CapEff|CapBnd' /proc/self/status; exit 7`, shown, w.data)
	limit := "16"
	if os.Getuid() != 0 {
		limit = strings.Split(out+"\n\n", "\n")[1]
	}
	id, _, _ := strings.Cut(out, "\n")
	want := id + "\n" + limit + "\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
	if code != 7 || out != want {
		t.Errorf("%d %s", code, out)
	}
	for script, want := range map[string]int{
		"exit 0": 0, "exit 125": 125, "kill -KILL $$": 137, "sleep 1000 & exit 3": 3,
	} {
		if out, code := w.in(t, boundary.Profile{Image: image}, script); code != want {
			t.Errorf("%s: %d %s", script, code, out)
		}
	}
	if err := w.b.Sees(shown, boundary.Command{Profile: p}); err != nil {
		t.Error(err)
	}
	if err := w.b.Sees("/etc/passwd", boundary.Command{Profile: p}); err == nil || !strings.Contains(err.Error(),
		"does not have /etc/passwd; show it") {
		t.Error(err)
	}
}

// TestNoContainer says what is missing for a container.
func TestNoContainer(t *testing.T) {
	image, env := podmantest.Image(t, podmantest.Account{}, "bash")
	name, value, _ := strings.Cut(env, "=")
	gives := func(t *testing.T, p boundary.Profile) error {
		t.Helper()
		b, err := boundary.Open(boundary.Config{Mode: boundary.Auto})
		must(t, err)
		defer b.Close()
		return b.Gives(p)
	}
	empty := filepath.Join(t.TempDir(), "storage.conf")
	must(t, os.WriteFile(empty, []byte("graphroot = '"+t.TempDir()+"'\n"), 0o600))
	other := image[:len(image)-64] + strings.Repeat("0", 64)
	for want, c := range map[string]struct {
		file, path string
		profile    boundary.Profile
	}{
		"image not known; get the image": {value, os.Getenv("PATH"), boundary.Profile{Image: other}},
		"podman is not installed":        {value, "/none", boundary.Profile{Image: image}},
		"has no images in":               {empty, os.Getenv("PATH"), boundary.Profile{Image: image}},
		"cannot show /, which is its": {value, os.Getenv("PATH"), boundary.Profile{Image: image,
			Show: []boundary.Path{{Name: "/"}}}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Setenv(name, c.file)
			t.Setenv("PATH", c.path)
			if err := gives(t, c.profile); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	b, err := boundary.Open(boundary.Config{Mode: boundary.Off})
	must(t, err)
	if err := b.Gives(boundary.Profile{Image: image}); err == nil || !strings.Contains(err.Error(), "level namespaces") {
		t.Errorf("without a level: %v", err)
	}
}
