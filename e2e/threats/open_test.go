package threats

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestOpenInstallIsForThisMachineAlone: without tokens a server listens only on a loopback address, answers
// only under loopback names, and refuses writes from pages of other origins.
// Keeps T38.
func TestOpenInstallIsForThisMachineAlone(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1.example.com:0",
		"0:0", "[::ffff:192.0.2.1]:0"} {
		s, err := harness.Launch(t, harness.Options{Flags: []string{"--open", "--addr", addr}})
		if err == nil {
			t.Errorf("--open came up on %s", addr)
		} else if code := s.Wait(wait); code == 0 || !strings.Contains(s.Output(), "loopback") {
			t.Errorf("%s: exit code %d: %s", addr, code, s.Output())
		}
	}
	s := harness.Start(t, harness.Options{Flags: []string{"--open"}})
	if s.Token != "" {
		t.Error("an open install prints a token")
	}
	const body = `{"tool":"bash","command":"true"}`
	post := func(host string, headers ...string) int {
		c := connect(t, s, 0)
		_, err := fmt.Fprintf(c,
			"POST /v1/runs HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: "+
				"%d\r\n%s\r\n%s",
			host, len(body), strings.Join(headers, ""), body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	own := strings.TrimPrefix(s.URL, "http://")
	for _, host := range []string{"evil.example", "127.0.0.1.nip.io", "localhost.evil.example", "evil.example:8080",
		"0.0.0.0", "192.0.2.1", "2130706433", "0x7f.1", "[::ffff:192.0.2.1]", "localhost@evil.example"} {
		if got := post(host); got != http.StatusForbidden && got != http.StatusBadRequest {
			t.Errorf("a write under the name %s: %d", host, got)
		}
	}
	for _, header := range []string{
		"Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n", "Origin: http://evil.example\r\n",
		"Origin: null\r\n", "Origin: http://" + own + ".evil.example\r\n",
		"Origin: http://localhost:1\r\n",
	} {
		if got := post(own, header); got != http.StatusForbidden {
			t.Errorf("a write with %q: %d", header, got)
		}
	}
	if _, total := s.Runs(""); total != 0 {
		t.Errorf("%d runs were made by others", total)
	}
	for _, header := range []string{"", "Sec-Fetch-Site: same-origin\r\n", "Origin: http://" + own + "\r\n"} {
		if got := post(own, header); got != http.StatusCreated {
			t.Errorf("an own write with %q: %d", header, got)
		}
	}
}
