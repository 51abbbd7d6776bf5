package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// typed is a terminal with typed input.
func typed(t *testing.T, input string) *os.File {
	t.Helper()
	master, slave := terminals(t)
	if _, err := master.WriteString(input); err != nil {
		t.Fatal(err)
	}
	return slave
}

// terminals are a terminal and its other end, at which the test types.
func terminals(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// writOn runs a command against the server with a terminal as its input.
func (s *catalogServer) writOn(t *testing.T, input string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	w := environment{out: &o, err: &e, in: typed(t, input),
		environ: []string{"WRIT_SERVER=" + s.URL, "WRIT_TOKEN=writ_test"}}
	code = execute(t.Context(), w, args)
	return code, o.String(), e.String()
}

func TestLaunchAsksOnATerminal(t *testing.T) {
	t.Parallel()
	s := newCatalogServer(t)
	s.put("templates", surveyed())
	code, out, errs := s.writOn(t, "4\n1.10\n\n2\n\n", "launch", "deploy")
	if code != exitDone || out != "run_1\n" ||
		!strings.HasPrefix(errs, "How many?\n  Of them all.\n  a whole number\n> version\n> sure [true]\n") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	if raw, err := json.Marshal(s.bodies[0]); err != nil || string(raw) != `{"answers":{"count":4,"size":"2","version":"1.10"}}` {
		t.Errorf("sent %s", raw)
	}
}

func TestPruneAsksOnATerminal(t *testing.T) {
	t.Parallel()
	s, files := applied(t)
	head, _, _ := strings.Cut(files["all.yaml"], "---\nkind: Trigger")
	files["all.yaml"] = head
	dir := tree(t, files)
	args := []string{"apply", dir, "--prune", "--kind", "Trigger"}
	if code, _, errs := s.writOn(t, "n\n", args...); code != exitFailed ||
		errs != "Delete 1 object? [y/N] writ: nothing was changed\n" || s.changed() != nil {
		t.Errorf("no: exit %d, %q", code, errs)
	}
	if code, out, errs := s.writOn(t, "y\n", args...); code != exitDone ||
		!strings.Contains(out, `deleted trigger "push"`) {
		t.Errorf("yes: exit %d, %q, %q", code, out, errs)
	}
}

// TestDeleteAsksOnATerminal deletes only after yes, and asks for a secret that is not given.
func TestDeleteAsksOnATerminal(t *testing.T) {
	t.Parallel()
	url, did := nounServer(t)
	call := func(input string, args ...string) (int, string, string) {
		var o, e bytes.Buffer
		code := execute(t.Context(), environment{out: &o, err: &e, in: typed(t, input),
			environ: []string{"WRIT_SERVER=" + url}}, args)
		return code, o.String(), e.String()
	}
	for _, answer := range []string{"n\n", "\n", "nonsense\n"} {
		code, out, errs := call(answer, "project", "delete", "infra")
		if code != exitFailed || out != "" || errs != "Delete project infra? [y/N] writ: nothing was changed\n" ||
			did() != nil {
			t.Errorf("%q: exit %d, %q, %q", answer, code, out, errs)
		}
	}
	code, out, errs := call("y\n", "project", "delete", "infra")
	if calls := did(); code != exitDone || out != "deleted infra\n" || len(calls) != 1 {
		t.Errorf("yes: exit %d, %q, %q, %q", code, out, errs, calls)
	}
	code, _, errs = call("S3cret\n", "credential", "create", "key", "--kind", "token", "--secret", "token")
	if calls := strings.Join(did(), "\n"); code != exitDone || !strings.HasPrefix(errs, "token: \n") ||
		!strings.Contains(calls, `{"kind":"token","name":"key","secret":{"token":"S3cret"}}`) {
		t.Errorf("exit %d, %q, %s", code, errs, calls)
	}
}
