package harness

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	demoAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	demoDir     = regexp.MustCompile(`its directory (\S+) is removed`)
)

// RunningDemo is a running "writ demo".
type RunningDemo struct {
	*Process
	Client

	Dir string // its directory, which it removes at its end
}

// Demo starts "writ demo", which is open to everybody and refuses changes, and returns a client of it. The test's end
// stops it.
func Demo(t testing.TB) Client {
	t.Helper()
	return StartDemo(t).Client
}

// StartDemo is Demo for tests of the process.
func StartDemo(t testing.TB) *RunningDemo {
	t.Helper()
	d := &RunningDemo{}
	t.Cleanup(func() { // after the process was killed, which leaves its directory
		if err := os.RemoveAll(d.Dir); err != nil {
			t.Error(err)
		}
	})
	p, err := launch(t, "demo", t.TempDir(), nil, []string{BinaryOf(t, ""), "demo", "--addr", "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	d.Process = p
	const last = "receipt-forged.json\n" // of what it prints when it is ready
	for end := time.Now().Add(startLimit); !strings.Contains(p.Output(), last); {
		select {
		case <-p.done:
			t.Fatalf("the demo ended: %v\n%s", p.err, p.Output())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("the demo is not ready\n%s", p.Output())
		}
	}
	d.Client = NewClient(t, demoAddress.FindString(p.Output()), "")
	d.Dir = demoDir.FindStringSubmatch(p.Output())[1]
	return d
}
