package harness

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Client uses the REST API. Its methods end the test if the transport fails; tests check the statuses.
type Client struct {
	URL   string
	Token string
	Via   *http.Client // nil is http.DefaultClient
	t     testing.TB
}

// NewClient returns a client of a server that was started elsewhere.
func NewClient(t testing.TB, url, token string) Client { return Client{URL: url, Token: token, t: t} }

// As returns the client with another token; an empty one is anonymous.
func (c Client) As(token string) Client { c.Token = token; return c }

func (c Client) via() *http.Client {
	if c.Via == nil {
		return http.DefaultClient
	}
	return c.Via
}

// Answer is a response, read whole. Of the live channel it has the beginning.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request; a body that is neither nil nor a string is marshalled.
func (c Client) Do(method, path string, body any, header ...string) Answer {
	c.t.Helper()
	a, err := c.Try(method, path, body, header...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// Try is Do for tests in which the server may be down. Headers come in pairs.
func (c Client) Try(method, path string, body any, header ...string) (Answer, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return Answer{}, err
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, c.URL+path, r)
	if err != nil {
		return Answer{}, err
	}
	if r != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.via().Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	if method == http.MethodGet && strings.HasPrefix(path, "/v1/live") &&
		resp.Header.Get("Content-Type") == "text/event-stream; charset=utf-8" {
		data := make([]byte, 64<<10)
		n, err := resp.Body.Read(data) // the stream has no end
		return Answer{Status: resp.StatusCode, Header: resp.Header, Body: data[:n]}, err
	}
	data, err := io.ReadAll(resp.Body)
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: data}, err
}

// JSON decodes the body of an answer.
func (a Answer) JSON(t testing.TB, out any) {
	t.Helper()
	if err := json.Unmarshal(a.Body, out); err != nil {
		t.Fatalf("decode %d answer: %v\n%s", a.Status, err, a.Body)
	}
}

// Run has the members of a run's record that tests use.
type Run struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Kind         string            `json:"kind"`
	Status       string            `json:"status"`
	Checked      bool              `json:"checked"`
	FailOn       []string          `json:"fail_on"`
	Tool         string            `json:"tool"`
	ExitCode     *int              `json:"exit_code"`
	Error        string            `json:"error"`
	Source       string            `json:"source"`
	ParentID     string            `json:"parent_id"`
	RetryOf      string            `json:"retry_of"`
	RerunOf      string            `json:"rerun_of"`
	ShardCount   int               `json:"shard_count"`
	StepName     string            `json:"step_name"`
	Attempt      int               `json:"attempt"`
	Worker       string            `json:"worker"`
	HostsTouched *int              `json:"hosts_touched"`
	Hosts        map[string]int    `json:"hosts"`
	EventCount   int64             `json:"event_count"`
	LogBytes     int64             `json:"log_bytes"`
	Labels       map[string]string `json:"labels"`
	Change       string            `json:"change"`
	Limit        string            `json:"limit"`
	ExtraVars    map[string]any    `json:"extra_vars"`
	Outputs      map[string]any    `json:"outputs"`
	Actor        struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"actor"`
	Warnings []struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"warnings"`
	Steps []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
		RunID  string `json:"run_id"`
	} `json:"steps"`
	CreatedAt  time.Time  `json:"created_at"`
	StartedAt  *time.Time `json:"started_at"`
	EndedAt    *time.Time `json:"ended_at"`
	DurationMS int64      `json:"duration_ms"`
}

// Warned reports whether the run has a warning of this code.
func (r Run) Warned(code string) bool { return r.WarnedTimes(code) > 0 }

// WarnedTimes returns the number of warnings of this code.
func (r Run) WarnedTimes(code string) (n int) {
	for _, w := range r.Warnings {
		if w.Code == code {
			n++
		}
	}
	return n
}

// Ended reports whether the run is in a terminal state.
func (r Run) Ended() bool {
	switch r.Status {
	case "succeeded", "failed", "canceled", "interrupted", "rejected":
		return true
	}
	return false
}

// Body is a request's JSON object.
type Body = map[string]any

// Submit submits a run and returns its record; anything but 201 ends the test.
func (c Client) Submit(body Body) Run { c.t.Helper(); return c.create("/v1/runs", body) }

// Act calls an action that makes a run.
func (c Client) Act(path string) Run { c.t.Helper(); return c.create(path, nil) }

func (c Client) create(path string, body any) Run {
	c.t.Helper()
	a := c.Do(http.MethodPost, path, body)
	if a.Status != http.StatusCreated {
		c.t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	var r Run
	a.JSON(c.t, &r)
	return r
}

// Get reads one run.
func (c Client) Get(id string) Run {
	c.t.Helper()
	a := c.Do(http.MethodGet, "/v1/runs/"+id, nil)
	if a.Status != http.StatusOK {
		c.t.Fatalf("GET run %s: %d %s", id, a.Status, a.Body)
	}
	var r Run
	a.JSON(c.t, &r)
	return r
}

// Until polls a run until ok returns true.
func (c Client) Until(id string, limit time.Duration, ok func(Run) bool) Run {
	c.t.Helper()
	deadline := time.Now().Add(limit)
	for p := pause(0); ; p.wait() {
		r := c.Get(id)
		if ok(r) {
			return r
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("run %s is %s after %s (error %q)", id, r.Status, limit, r.Error)
		}
	}
}

// Await polls a run until it has ended.
func (c Client) Await(id string) Run {
	c.t.Helper()
	return c.Until(id, 8*time.Minute, Run.Ended)
}

// Log returns the whole log of a run.
func (c Client) Log(id string) string {
	c.t.Helper()
	a := c.Do(http.MethodGet, "/v1/runs/"+id+"/logs", nil)
	if a.Status != http.StatusOK {
		c.t.Fatalf("log of %s: %d %s", id, a.Status, a.Body)
	}
	return string(a.Body)
}

// Event has the members of a structured event that tests use.
type Event struct {
	Seq     int64           `json:"seq"`
	Type    string          `json:"type"`
	Host    string          `json:"host"`
	Task    string          `json:"task"`
	Play    string          `json:"play"`
	Item    string          `json:"item"`
	Message string          `json:"message"`
	Stdout  string          `json:"stdout"`
	Changed bool            `json:"changed"`
	Ignored bool            `json:"ignored"`
	From    string          `json:"from"`
	To      string          `json:"to"`
	Diff    json.RawMessage `json:"diff"`
	Stats   json.RawMessage `json:"stats"`
	Outputs json.RawMessage `json:"outputs"`
	Facts   json.RawMessage `json:"facts"`
}

// Events reads every event of a run through the pages of the API and checks that no sequence number is missing.
func (c Client) Events(id string) []Event {
	c.t.Helper()
	var out []Event
	for after := int64(0); ; {
		var p struct {
			Events    []Event `json:"events"`
			NextAfter int64   `json:"next_after"`
		}
		c.Do(http.MethodGet, "/v1/runs/"+id+"/events?limit=5000&after="+itoa(after), nil).JSON(c.t, &p)
		if len(p.Events) == 0 {
			return out
		}
		for _, e := range p.Events {
			if e.Seq != int64(len(out))+1 {
				c.t.Fatalf("run %s: event %d follows %d events", id, e.Seq, len(out))
			}
			out = append(out, e)
		}
		after = p.NextAfter
	}
}

// Host is one row of a run's host summary.
type Host struct {
	Host        string `json:"host"`
	OK          int    `json:"ok"`
	Changed     int    `json:"changed"`
	Failed      int    `json:"failed"`
	Unreachable int    `json:"unreachable"`
	Skipped     int    `json:"skipped"`
	Rescued     int    `json:"rescued"`
	Ignored     int    `json:"ignored"`
	Worst       string `json:"worst"`
}

// Hosts returns a run's host summary by host.
func (c Client) Hosts(id string) map[string]Host {
	c.t.Helper()
	var p struct {
		Hosts []Host `json:"hosts"`
	}
	c.Do(http.MethodGet, "/v1/runs/"+id+"/hosts", nil).JSON(c.t, &p)
	out := make(map[string]Host, len(p.Hosts))
	for _, h := range p.Hosts {
		out[h.Host] = h
	}
	return out
}

// Runs lists runs with a query string such as "status=failed".
func (c Client) Runs(query string) (rows []Run, total int) {
	c.t.Helper()
	var p struct {
		Runs  []Run `json:"runs"`
		Total int   `json:"total"`
	}
	a := c.Do(http.MethodGet, "/v1/runs?"+query, nil)
	if a.Status != http.StatusOK {
		c.t.Fatalf("list %s: %d %s", query, a.Status, a.Body)
	}
	a.JSON(c.t, &p)
	return p.Runs, p.Total
}

func itoa(n int64) string {
	b, _ := json.Marshal(n)
	return string(b)
}
