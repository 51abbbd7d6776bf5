package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
)

// slowServer answers each request after a time.
type slowServer time.Duration

func (s slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(time.Duration(s)):
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"id":"prj_1"}`))}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// TestWaiting: who asks for a fetch waits longer than the server does, and any other one no longer than a minute.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		noun, verb string
		takes      time.Duration
		want       string // of the error
	}{
		{"project", "sync", catalog.SyncLife + 30*time.Second, ""},
		{"source", "refresh", catalog.RefreshLife + 30*time.Second, ""},
		{"project", "sync", time.Hour, "http://writ.test did not answer within 3m0s; it may still do what was asked: look " +
			"at the result before you repeat it"},
		{"schedule", "preview", 2 * time.Minute, "http://writ.test did not answer within 1m0s; it is busy or does not run " +
			"well: try again, or ask 'writ doctor'"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, _ := findNoun(c.noun)
			o, ok := n.operation(c.verb)
			cl := &client{base: "http://writ.test", http: &http.Client{Transport: slowServer(c.takes)}}
			var out, errs bytes.Buffer
			err := n.send(t.Context(), cl, o, "/v1/x", nil, printer{environment: environment{out: &out, err: &errs}})
			if !ok || (err == nil) != (c.want == "") || err != nil && err.Error() != c.want || errs.Len() > 0 {
				t.Errorf("%s %s: %v %q %q", c.noun, c.verb, err, out.String(), errs.String())
			}
		})
	}
}

// TestLateAnswers names the cause when an answer does not end in time. The end of the caller's context is another one.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"id":`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	c := &client{base: s.URL, http: s.Client(), limit: 10 * time.Millisecond}
	err := c.call(t.Context(), http.MethodGet, "/v1/x", nil, nil)
	if err == nil || !strings.HasPrefix(err.Error(), s.URL+" did not answer within 10ms; ") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.call(ctx, http.MethodGet, "/v1/x", nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestWaitingIsShown writes a line on a terminal while a server fetches.
func TestWaitingIsShown(t *testing.T) {
	t.Parallel()
	url, _ := nounServer(t)
	master, slave := terminals(t)
	w := environment{out: io.Discard, err: slave, in: strings.NewReader(""), environ: []string{"WRIT_SERVER=" + url}}
	if code := execute(t.Context(), w, []string{"project", "sync", "infra"}); code != exitDone {
		t.Fatal(code)
	}
	line := make([]byte, 200)
	n, err := master.Read(line)
	if got := string(line[:n]); err != nil || got != "writ: waiting for "+url+", which may take 2m0s\r\n" {
		t.Errorf("%q, %v", got, err)
	}
}
