package threats

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// wait bounds waits for immediate events.
const wait = time.Minute

// TestSlowConnectionsHurtNobody: thousands of connections that never finish the header of their request do not
// delay other clients, and are closed without leaving anything behind.
// Keeps T32.
func TestSlowConnectionsHurtNobody(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	quiet := slowest(t, s, 50)
	idle := make([]net.Conn, 0, depthtest.Of(400, 5000))
	for range cap(idle) {
		c := connect(t, s, 0)
		if _, err := io.WriteString(c, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-Slow: a"); err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
	}
	busy := slowest(t, s, 200)
	t.Logf("/readyz at the 99th percentile: %s without, %s beside %d connections", quiet, busy, len(idle))
	if busy > max(time.Second, 20*quiet) && busy > 20*slowest(t, s, 50) { // the machine may have become slow meanwhile
		t.Errorf("/readyz took %s, and %s without the slow connections", busy, quiet)
	}
	if r := s.Await(s.Submit(script("true")).ID); r.Status != "succeeded" {
		t.Errorf("a run beside them is %s", r.Status)
	}
	if err := idle[0].SetReadDeadline(time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(idle[0]); err != nil {
		t.Errorf("a connection without a request was not dropped: %v", err)
	}
}

// slowest is the 99th percentile of the time that /readyz takes.
func slowest(t *testing.T, s *harness.Server, n int) time.Duration {
	t.Helper()
	took := make([]time.Duration, n)
	for i := range took {
		from := time.Now()
		if a := s.Do(http.MethodGet, "/readyz", nil); a.Status != http.StatusOK {
			t.Fatalf("/readyz: %d %s", a.Status, a.Body)
		}
		took[i] = time.Since(from)
	}
	slices.Sort(took)
	return took[n*99/100]
}

// TestStreamsOfAnAccountAreCapped: one account holds a limited number of streams. A refusal has a Retry-After,
// and another stream opens when one has ended.
// Keeps T32.
func TestStreamsOfAnAccountAreCapped(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--drain-timeout", "1s"}})
	r := s.Submit(script("sleep 300"))
	path := "/v1/runs/" + r.ID + "/stream"
	var held []net.Conn
	for len(held) <= 64 {
		resp, c := get(t, s, 0, path, bearer(s))
		if resp.StatusCode != http.StatusOK {
			if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
				t.Errorf("stream %d: %d %v", len(held), resp.StatusCode, resp.Header)
			}
			break
		}
		held = append(held, c)
	}
	if len(held) != 64 {
		t.Fatalf("%d streams were opened", len(held))
	}
	if a := s.Do(http.MethodGet, "/v1/runs/"+r.ID, nil); a.Status != http.StatusOK {
		t.Errorf("beside the streams: %d", a.Status)
	}
	_ = held[0].Close()
	harness.Eventually(t, wait, "another stream can be opened", func() bool {
		resp, c := get(t, s, 0, path, bearer(s))
		_ = c.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// TestOversizedRequests: headers, addresses and bodies beyond their limits are refused, and the server
// continues.
// Keeps T32.
func TestOversizedRequests(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for name, header := range map[string]string{
		"one header":   "X-Big: " + strings.Repeat("a", 200<<10) + "\r\n",
		"many headers": strings.Repeat("X-Many: "+strings.Repeat("b", 100)+"\r\n", 2000),
	} {
		c := connect(t, s, 0)
		go func() { _, _ = io.WriteString(c, "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\n") }()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"2 MiB":          {`{"name":"` + strings.Repeat("a", 2<<20) + `"}`, http.StatusRequestEntityTooLarge},
		"200,000 levels": {strings.Repeat(`{"a":`, 150_000) + "1" + strings.Repeat("}", 150_000), http.StatusBadRequest},
		"a huge number":  {`{"timeout":1e999999}`, http.StatusBadRequest},
		"a name too long": {`{"tool":"bash","command":"true","name":"` + strings.Repeat("a", 201) + `"}`,
			http.StatusBadRequest},
	} {
		if a := s.Do(http.MethodPost, "/v1/runs", c.body); a.Status != c.want {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if _, total := s.Runs(""); total != 0 {
		t.Errorf("%d runs were made", total)
	}
}

// TestCompressedBodiesAreRefused: a small body that would unpack to a huge one is never unpacked.
// Keeps T33.
func TestCompressedBodiesAreRefused(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	fill := bytes.Repeat([]byte(" "), 1<<20)
	for range 96 {
		if _, err := z.Write(fill); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := z.Write([]byte(`{"tool":"bash","command":"true"}`)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	before := peak(t, s.PID)
	for _, encoding := range []string{"gzip", "x-gzip", "deflate", "br", "zstd", "gzip, gzip", "identity, gzip", "GZIP"} {
		a := s.Do(http.MethodPost, "/v1/runs", bomb.String(), "Content-Encoding", encoding)
		if a.Status != http.StatusUnsupportedMediaType {
			t.Errorf("%s: %d %s", encoding, a.Status, a.Body)
		}
	}
	if a := s.Do(http.MethodPost, "/v1/runs", bomb.String()); a.Status != http.StatusBadRequest {
		t.Errorf("without saying so: %d %s", a.Status, a.Body)
	}
	if a := s.Do(http.MethodPost, "/v1/runs", `{"tool":"bash","command":"true"}`, "Content-Encoding",
		"identity"); a.Status != http.StatusCreated {
		t.Errorf("identity: %d %s", a.Status, a.Body)
	}
	if grown := peak(t, s.PID) - before; grown > 48<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

// TestMetricsContainNothingOfUsers: names that users choose never become labels, except those of queues, which
// are bounded in number and plain. No debugging routes are served.
// Keeps T39.
func TestMetricsContainNothingOfUsers(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	// scrape returns the series of queues, which are bounded by their own number, and all others.
	scrape := func() (queues, others []string) {
		a := s.As("").Do(http.MethodGet, "/metrics", nil)
		if a.Status != http.StatusOK {
			t.Fatalf("/metrics: %d", a.Status)
		}
		for line := range strings.Lines(string(a.Body)) {
			name, _, ok := strings.Cut(line, " ")
			switch {
			case !ok || strings.HasPrefix(line, "#"):
			case strings.HasPrefix(name, "writ_queue_"):
				queues = append(queues, name)
			default:
				others = append(others, name)
			}
		}
		return queues, others
	}
	probe := func(from, to int) {
		var last harness.Run
		defer func() { s.Await(last.ID) }()
		for i := from; i < to; i++ {
			odd := fmt.Sprintf("canary%d\"}\\\n# x", i)
			last = s.Submit(harness.Body{"tool": "bash", "command": "true", "name": odd, "change": odd,
				"labels": harness.Body{fmt.Sprintf("canary%d", i): odd}})
			s.Do(http.MethodPost, "/v1/runs", harness.Body{"tool": fmt.Sprintf("canary%d", i), "command": "true"})
			s.Do(http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "true", "queue": fmt.Sprintf("q%d", i)})
			s.Do(http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "true", "queue": odd})
			s.Do(http.MethodGet, fmt.Sprintf("/v1/canary%d/x?canary%d=1", i, i), nil)
			s.Do(http.MethodGet, fmt.Sprintf("/v1/runs/canary%d", i), nil, "User-Agent", fmt.Sprint("canary", i), "X-Request-Id",
				fmt.Sprint("canary", i))
			s.Do(fmt.Sprintf("CANARY%d", i), "/v1/runs", nil)
			s.As(fmt.Sprint("canary", i)).Do(http.MethodGet, "/v1/runs", nil)
		}
	}
	const first = 5
	probes := depthtest.Of(40, 200)
	probe(0, first)
	_, few := scrape()
	probe(first, probes)
	for i := range depthtest.Of(150, 200) { // far more than are shown
		s.Do(http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "true", "queue": fmt.Sprint("q", i)})
	}
	queues, many := scrape()
	for _, name := range slices.Concat(queues, many) {
		if strings.Contains(strings.ToLower(name), "canary") {
			t.Errorf("a series carries what a user wrote: %s", name)
		}
	}
	// Series of the server's own work are added with time, fewer than one for each further probe.
	if t.Logf("%d series became %d, beside %d of queues", len(few), len(many), len(queues)); len(queues) > 2*101 ||
		len(many)-len(few) >= probes-first {
		t.Errorf("%d series became %d, beside %d of queues", len(few), len(many), len(queues))
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/vars", "/debug",
		"/v1/debug", "/debug/requests"} {
		if a := s.Do(http.MethodGet, path, nil); a.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.Status)
		}
	}
}
