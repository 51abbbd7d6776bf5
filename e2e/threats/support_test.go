package threats

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// script is the body of a run of bash.
func script(command string) harness.Body { return harness.Body{"tool": "bash", "command": command} }

// pidOf waits for the process id that a run prints after "pid=".
func pidOf(t *testing.T, c harness.Client, id string) int {
	t.Helper()
	pid := 0
	harness.Eventually(t, time.Minute, "the run tells its process id", func() bool {
		list := harness.PIDs(t, id, c.Log(id), "pid=")
		if len(list) > 0 {
			pid = list[0]
		}
		return len(list) > 0
	})
	return pid
}

// checkOnce reads a file to which each run appended its line: every line once, n in all.
func checkOnce(t *testing.T, file string, n int) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(b)) {
		seen[strings.TrimSpace(line)]++
	}
	for name, k := range seen {
		if k != 1 {
			t.Errorf("%s started %d times", name, k)
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d started", len(seen), n)
	}
}

// oneStory checks the states in the run's events: each follows from the previous one, none follows an end, and the
// last one is that of the record.
func oneStory(t *testing.T, c harness.Client, id string) {
	t.Helper()
	at, seen := "", 0
	terminal := func(s string) bool { return (harness.Run{Status: s}).Ended() }
	for _, e := range c.Events(id) {
		if e.Type != "status" {
			continue
		}
		if seen++; e.From != at && seen > 1 || terminal(e.From) {
			t.Errorf("run %s went from %s to %s when it was %s", id, e.From, e.To, at)
		}
		at = e.To
	}
	if r := c.Get(id); r.Status != at || !r.Ended() {
		t.Errorf("run %s is %s and its last event says %s", id, r.Status, at)
	}
}

// command runs the binary like a user and returns its output.
func command(t *testing.T, s *harness.Server, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Binary(t), args...)
	cmd.Dir = s.Dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("writ %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// connect opens a connection to a server with a small receive buffer.
func connect(t *testing.T, s *harness.Server, window int) *net.TCPConn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	tcp := c.(*net.TCPConn)
	if window > 0 {
		if err := tcp.SetReadBuffer(window); err != nil {
			t.Fatal(err)
		}
	}
	return tcp
}

// get sends a request on a new connection and returns the answer with an unread body.
func get(t *testing.T, s *harness.Server, window int, path string, headers ...string) (*http.Response, *net.TCPConn) {
	t.Helper()
	c := connect(t, s, window)
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", path,
		strings.Join(headers, ""))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return resp, c // the body ends with the connection
}

// bearer is the header of the server's admin.
func bearer(s *harness.Server) string { return "Authorization: Bearer " + s.Token + "\r\n" }

// incomplete reports whether the last line of an export reports that it is incomplete, and returns the reason.
func incomplete(body string) (reason string, ok bool) {
	body = strings.TrimSuffix(body, "\n")
	var last struct {
		Incomplete bool   `json:"export_incomplete"`
		Reason     string `json:"reason"`
	}
	line := body[strings.LastIndexByte(body, '\n')+1:]
	if json.Unmarshal([]byte(line), &last) != nil {
		return "", false
	}
	return last.Reason, last.Incomplete
}
