package harness

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

var demoAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// Demo starts "writ demo", which is open to everybody and refuses changes, and returns a client of it. The test's end
// stops it.
func Demo(t testing.TB) Client {
	t.Helper()
	p, err := launch(t, "demo", t.TempDir(), nil, []string{BinaryOf(t, ""), "demo", "--addr", "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
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
	return NewClient(t, demoAddress.FindString(p.Output()), "")
}
