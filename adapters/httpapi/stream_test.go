package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// message is one server-sent event.
type message struct{ event, id, data string }

// open opens a stream and returns its parsed messages; the channel closes with the stream.
func (f *fixture) open(ctx context.Context, path string, header ...string) (*http.Response, <-chan message) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", f.url+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = resp.Body.Close() })
	out := make(chan message, 64)
	go func() {
		defer close(out)
		var m message
		for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
			line := sc.Text()
			k, v, _ := strings.Cut(line, ": ")
			switch {
			case line == "":
				if m != (message{}) {
					out <- m
				}
				m = message{}
			case k == "event":
				m.event = v
			case k == "id":
				m.id = v
			case k == "data":
				m.data = v
			case strings.HasPrefix(line, ":"):
				m.event = "comment"
			}
		}
	}()
	return resp, out
}

func collect(t *testing.T, ch <-chan message) []message {
	t.Helper()
	var out []message
	late := time.After(10 * time.Second)
	for {
		select {
		case m, ok := <-ch:
			if !ok {
				return out
			}
			out = append(out, m)
		case <-late:
			t.Fatalf("the stream did not end: %v", out)
		}
	}
}

const streamPath = "/v1/runs/" + knownRun + "/stream"

func TestStream(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var asked []int64
	f.fake.follow = func(_ context.Context, after, offset int64, emit func(runs.Update) error) error {
		asked = []int64{after, offset}
		e := runs.Event{Seq: 1, Type: runs.EventStatus, To: runs.Running}
		text := []byte("a\nh\xc3\xa9")
		return errors.Join(
			emit(runs.Update{Run: run()}), emit(runs.Update{Event: &e}),
			emit(runs.Update{Log: &runs.LogChunk{Data: text[:3]}}),
			emit(runs.Update{Log: &runs.LogChunk{Offset: 3, Data: text[3:]}}),
			emit(runs.Update{Log: &runs.LogChunk{Offset: 5, Data: []byte("\xe2\x82")}}),
			emit(runs.Update{Matrix: &runs.MatrixDelta{Since: 1, Rev: 2, Hosts: 1, Names: []string{"a"}, Cells: []byte{1, 1}}}),
			emit(runs.Update{Beat: true}), emit(runs.Update{End: true}),
		)
	}
	resp, ch := f.open(t.Context(), streamPath+"?after=4&log_offset=9", "Authorization", "Bearer viewer",
		"Last-Event-ID", "6")
	got := collect(t, ch)
	if resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" ||
		resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("headers %v", resp.Header)
	}
	if d := cmp.Diff([]int64{6, 9}, asked); d != "" {
		t.Error(d)
	}
	if len(got) < 2 || got[0].event != "run" || !strings.Contains(got[0].data, knownRun) ||
		strings.Contains(got[0].data, "hunter2") {
		t.Fatalf("first %v", got)
	}
	want := []message{
		{event: "event", id: "1", data: `{"seq":1,"at":"0001-01-01T00:00:00Z","type":"status","to":"running"}`},
		{event: "log", data: `{"offset":0,"text":"a\nh","next":3}`}, {event: "log", data: `{"offset":3,"text":"é","next":5}`},
		{event: "log", data: `{"offset":5,"text":"\ufffd\ufffd","next":7}`},
		{event: "matrix",
			data: `{"since":1,"rev":2,"hosts":1,"tasks":[],"tasks_from":0,"names":["a"],"names_from":0,"cells":"AQE="}`},
		{event: "comment"}, {event: "end", data: "{}"},
	}
	if d := cmp.Diff(want, got[1:], cmp.AllowUnexported(message{})); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
	f.call("GET", "/v1/runs/run_other/stream", "viewer", "").problem(t, 404)
	f.call("GET", streamPath+"?after=x", "viewer", "").problem(t, 400)
	f.call("GET", streamPath, "", "").problem(t, 401)
	if a := f.call("HEAD", streamPath, "viewer", ""); a.status != 200 {
		t.Errorf("HEAD %d", a.status)
	}
}

func TestStreamTicket(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.follow = func(_ context.Context, _, _ int64, emit func(runs.Update) error) error {
		return emit(runs.Update{End: true})
	}
	m := f.call("POST", streamPath+"-ticket", "viewer", "").json(t, 200)
	if d := cmp.Diff(map[string]any{"ticket": "t1", "expires_in": json.Number("30")}, m); d != "" {
		t.Error(d)
	}
	f.call("GET", "/v1/runs/run_other/stream?ticket=t1", "", "").problem(t, 401)
	if a := f.call("GET", streamPath+"?ticket=t1", "", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	a := f.call("GET", streamPath+"?ticket=t1", "", "")
	if p := a.problem(t, 401); p.Reason != "bad_ticket" || a.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%+v", p)
	}
	f.call("GET", "/v1/runs/"+knownRun+"?ticket=t1", "", "").problem(t, 401)
	if strings.Contains(f.log.String(), "ticket=") {
		t.Error("a ticket is in the log")
	}
}

func TestTicketStreamEndsWithItsAccount(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.follow = wait
	f.call("POST", streamPath+"-ticket", "viewer", "").json(t, 200)
	_, ch := f.open(t.Context(), streamPath+"?ticket=t1")
	<-ch
	f.call("POST", streamPath+"-ticket", "viewer", "").json(t, 200)
	f.guard.revoke("viewer")
	collect(t, ch)
	f.call("GET", streamPath+"?ticket=t1", "", "").problem(t, 401)
}

// TestStreamTellsTheAuthorizerWhatIsNew changes the version of rights while a stream is open: the authorizer gets it
// without another request.
func TestStreamTellsTheAuthorizerWhatIsNew(t *testing.T) {
	t.Parallel()
	for _, path := range []string{streamPath, streamPath + "?ticket=t1"} {
		f := setup(t)
		f.fake.follow = wait
		header := []string{"Authorization", "Bearer viewer"}
		if path != streamPath {
			f.call("POST", streamPath+"-ticket", "viewer", "").json(t, 200)
			header = nil
		}
		_, ch := f.open(t.Context(), path, header...)
		<-ch
		f.guard.version.Store(7)
		for deadline := time.Now().Add(10 * time.Second); f.guard.decisionVersion.Load() != 7; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("nobody told the authorizer")
			}
		}
	}
}

func TestTicketInOpenMode(t *testing.T) {
	t.Parallel()
	f := setup(t, func(p *httpapi.Params) { p.Config.Open = true })
	f.fake.follow = func(_ context.Context, _, _ int64, emit func(runs.Update) error) error {
		return emit(runs.Update{End: true})
	}
	f.call("POST", streamPath+"-ticket", "", "").json(t, 200)
	if a := f.call("GET", streamPath+"?ticket=t1", "", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestStreamEndsWithTheRole: a stream ends even if the new role would allow it, since it was decided with the old one.
func TestStreamEndsWithTheRole(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"token", "ticket", "cookie"} {
		f := setup(t)
		f.fake.follow = wait
		path, header := streamPath, []string{"Authorization", "Bearer viewer"}
		switch how {
		case "ticket":
			f.call("POST", streamPath+"-ticket", "viewer", "").json(t, 200)
			path, header = streamPath+"?ticket=t1", nil
		case "cookie":
			header = []string{"Cookie", "writ_session=viewer"}
		}
		_, ch := f.open(t.Context(), path, header...)
		<-ch
		f.guard.become(identity.Admin)
		collect(t, ch)
	}
}

func wait(ctx context.Context, _, _ int64, emit func(runs.Update) error) error {
	if err := emit(runs.Update{Run: run()}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestStreamBeatsAndEndsWithTheRight(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.follow = wait
	_, ch := f.open(t.Context(), streamPath, "Authorization", "Bearer viewer")
	<-ch
	if m := <-ch; m.event != "comment" {
		t.Errorf("no heartbeat: %v", m)
	}
	f.guard.revoke("viewer")
	collect(t, ch)
}

func TestStreamCap(t *testing.T) {
	t.Parallel()
	f := setup(t, func(p *httpapi.Params) { p.Config.StreamsPerAccount = 1 })
	f.fake.follow = wait
	ctx, cancel := context.WithCancel(t.Context())
	_, first := f.open(ctx, streamPath, "Authorization", "Bearer viewer")
	<-first
	a := f.call("GET", streamPath, "viewer", "")
	if p := a.problem(t, 429); p.Reason != "too_many_streams" || a.header.Get("Retry-After") == "" {
		t.Errorf("%+v", p)
	}
	_, other := f.open(t.Context(), streamPath, "Authorization", "Bearer admin")
	<-other
	cancel()
	deadline := time.Now().Add(5 * time.Second)
	for {
		again, ch := f.open(t.Context(), streamPath, "Authorization", "Bearer viewer")
		if again.StatusCode == 200 {
			f.router.Close()
			collect(t, ch)
			collect(t, other)
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a closed stream still counts")
		}
	}
}

// TestSlowReaderIsDropped reads nothing: the deadline of the write must end the follower.
// Keeps F20.
func TestSlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	f := setup(t, func(p *httpapi.Params) { p.Config.WriteTimeout = 300 * time.Millisecond })
	done := make(chan error, 1)
	f.fake.follow = func(_ context.Context, _, _ int64, emit func(runs.Update) error) error {
		chunk := runs.LogChunk{Data: make([]byte, 1<<20)}
		for {
			if err := emit(runs.Update{Log: &chunk}); err != nil {
				done <- err
				return err
			}
			chunk.Offset += 1 << 20
		}
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer viewer\r\n\r\n",
		streamPath); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a reader that does not read holds the follower")
	}
}

func events(n int) []runs.Event {
	out := make([]runs.Event, n)
	for i := range out {
		out[i] = runs.Event{Seq: int64(i + 1), Type: runs.EventHostOK, Host: "web<1>"}
	}
	return out
}

func TestEvents(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.events = events(12000)
	base := "/v1/runs/" + knownRun + "/events"
	for q, want := range map[string][4]int{
		"": {500, 500, 1, 500}, "?limit=90000": {5000, 5000, 1, 5000}, "?after=11990&limit=50": {10, 12000, 11991, 50},
		"?after=12000": {0, 12000, 0, 500},
	} {
		var p struct {
			Events     []runs.Event
			Count      int
			Next       int64 `json:"next_after"`
			End        bool
			Limit      int
			unexported struct{}
		}
		a := f.call("GET", base+q, "viewer", "")
		if err := json.Unmarshal(a.body, &p); err != nil || a.header.Get("Content-Type") != "application/json" {
			t.Fatalf("%v %v", err, a.header)
		}
		got := [4]int{p.Count, int(p.Next), 0, p.Limit}
		if len(p.Events) > 0 {
			got[2] = int(p.Events[0].Seq)
		}
		if got != want || len(p.Events) != p.Count || !p.End {
			t.Errorf("%s: %v, want %v", q, got, want)
		}
	}
	a := f.call("GET", base+"?download=1&after=5", "viewer", "")
	lines := strings.Split(strings.TrimSuffix(string(a.body), "\n"), "\n")
	if len(lines) != 11995 || !strings.HasPrefix(lines[0], `{"seq":6,`) ||
		a.header.Get("Content-Type") != "application/x-ndjson" ||
		a.header.Get("Content-Disposition") != `attachment; filename="`+knownRun+`-events.ndjson"` {
		t.Errorf("%d lines, %v", len(lines), a.header)
	}
	if a := f.call("GET", base+"?download=1&limit=7000", "viewer", ""); strings.Count(string(a.body), "\n") != 7000 {
		t.Errorf("%d lines", strings.Count(string(a.body), "\n"))
	}
}

func TestEventExportThatBreaksOff(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.fake.events = events(6000)
	f.fake.eventsErr = func(after int64) error {
		if after > 0 {
			return errors.New("HIDDEN")
		}
		return nil
	}
	a := f.call("GET", "/v1/runs/"+knownRun+"/events?download=1", "viewer", "")
	lines := strings.Split(strings.TrimSuffix(string(a.body), "\n"), "\n")
	var last struct {
		Incomplete bool `json:"export_incomplete"`
		Reason     string
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || !last.Incomplete || last.Reason == "" ||
		len(lines) != 5001 {
		t.Errorf("%d lines, last %q", len(lines), lines[len(lines)-1])
	}
	if strings.Contains(last.Reason, "HIDDEN") || !strings.Contains(f.log.String(), "HIDDEN") {
		t.Errorf("reason %q", last.Reason)
	}
}
