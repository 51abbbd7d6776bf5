package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/identity"
)

// Keeps T57.
func TestStrictBodies(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for body, where := range map[string]string{
		`{"tool":"bash","nope":1}`:                               "nope",
		`{"Tool":"bash"}`:                                        "Tool",
		`{"tool":7}`:                                             "tool",
		`{"tags":"a"}`:                                           "tags",
		`{"tags":["a",1]}`:                                       "tags[1]",
		`{"shards":"2"}`:                                         "shards",
		`{"shards":1.5}`:                                         "shards",
		`{"shards":99999999999999999999}`:                        "shards",
		`{"dry_run":"yes"}`:                                      "dry_run",
		`{"labels":{"a":1}}`:                                     "labels.a",
		`{"tool":"bash","tool":"bash"}`:                          "tool",
		`{"extra_vars":{"a":{"b":1,"b":2}}}`:                     "extra_vars.a.b",
		`{"extra_vars":{"a":[0,"x\u0000"]}}`:                     "extra_vars.a[1]",
		`{"extra_vars":{"a":"\ud800"}}`:                          "extra_vars.a",
		`{"extra_vars":{"a":"\udc00\ud800"}}`:                    "extra_vars.a",
		`{"extra_vars":{"a":1e999}}`:                             "extra_vars.a",
		`{"extra_vars":[]}`:                                      "extra_vars",
		`{"notifications":[{"kind":"webhook","url":"u","x":1}]}`: "notifications[0].x",
		`{"tool":"bash"} {}`:                                     "body",
		`{"tool":"bash"}x`:                                       "body",
		`{"tool":`:                                               "tool",
		`{"tool" "bash"}`:                                        "tool",
		`[]`:                                                     "body",
		`"x"`:                                                    "body",
		"{\"tool\":\"\xff\"}":                                    "body",
		`{"tool":"a` + "\x00" + `"}`:                             "tool",
		`{"extra_vars":{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}`: "body",
		"   ": "body",
	} {
		p := f.call("POST", "/v1/runs", "operator", body).problem(t, 400)
		if len(p.Errors) == 0 || p.Errors[0].Location != where {
			t.Errorf("%s: %+v, want %s", body, p, where)
		}
	}
	if p := f.call("POST", "/v1/runs", "operator", "").problem(t, 400); len(p.Errors) == 0 ||
		p.Errors[0].Location != "body" {
		t.Errorf("no body: %+v", p)
	}
	f.call("POST", "/v1/runs", "operator", `{"extra_vars":{"a":"\ud83d\ude00 é \\ud800","deep":`+strings.Repeat("[", 60)+
		strings.Repeat("]", 60)+`}}`).json(t, 201)
}

func TestNoErrorEchoesAValue(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, body := range []string{
		`{"tool":["s3cr3t"]}`, `{"env":{"a":["s3cr3t"]}}`, `{"shards":"s3cr3t"}`, `{"command":{"s3cr3t":1}}`,
		`{"tool":"s3cr3t"`, `{"tool":"s3cr3t\u0000"}`,
	} {
		a := f.call("POST", "/v1/runs", "operator", body)
		a.problem(t, 400)
		if strings.Contains(string(a.body), "s3cr3t") || strings.Contains(f.log.String(), "s3cr3t") {
			t.Errorf("%s is echoed: %s", body, a.body)
		}
	}
	if a := f.call("GET", "/v1/runs?limit=s3cr3t", "viewer", ""); strings.Contains(string(a.body), "s3cr3t") {
		t.Errorf("echoed: %s", a.body)
	}
}

func TestBodySize(t *testing.T) {
	t.Parallel()
	f := setup(t)
	frame := `{"tool":"bash","command":""}`
	exact := strings.Replace(frame, `""`, `"`+strings.Repeat("x", httpapi.DefaultBody-len(frame))+`"`, 1)
	if len(exact) != 1<<20 {
		t.Fatal(len(exact))
	}
	f.call("POST", "/v1/runs", "operator", exact).json(t, 201)
	p := f.call("POST", "/v1/runs", "operator", exact+" ").problem(t, 413)
	if p.Reason != "too_large" {
		t.Errorf("%+v", p)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", f.url+"/v1/runs",
		struct{ *bytes.Reader }{bytes.NewReader([]byte(exact + " "))})
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer operator")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != 413 {
		t.Errorf("chunked: %d", resp.StatusCode)
	}
}

// TestLargeBodiesAreLimited holds large bodies open: one above the limit is refused, and a small one is not.
func TestLargeBodiesAreLimited(t *testing.T) {
	t.Parallel()
	const large, places = 2 << 20, 24
	f := setup(t, func(p *httpapi.Params) {
		p.Routes = append(p.Routes, httpapi.Routes{Name: "large", Register: func(r *httpapi.Router) {
			r.Raw(httpapi.Route{
				Method: "POST", Path: "/large", ID: "take-large", Tag: "system", Summary: "s", Description: "d",
				Access: httpapi.Public(), Status: 200, Example: "x", Harmless: true,
				Consumes: "text/plain", MaxBody: large, Errors: []int{404},
			}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }))
		}})
	})
	let := make(chan struct{}, places)
	send := func(body io.Reader, length int64) *http.Response {
		// The server reads a body when it has a place for it.
		trace := &httptrace.ClientTrace{Got100Continue: func() { let <- struct{}{} }}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "POST", f.url+"/large", body)
		if err != nil {
			t.Fatal(err)
		}
		if length < 0 {
			req.Header.Set("Expect", "100-continue")
		}
		req.ContentLength = length
		req.Header.Set("Content-Type", "text/plain")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return &http.Response{Header: http.Header{}}
		}
		_ = resp.Body.Close()
		return resp
	}
	var work sync.WaitGroup
	var held []*io.PipeWriter
	for range places {
		from, to := io.Pipe()
		held = append(held, to)
		work.Go(func() {
			if got := send(from, -1); got.StatusCode != 200 {
				t.Errorf("a body that was let in: %d", got.StatusCode)
			}
		})
	}
	for range places {
		select {
		case <-let:
		case <-time.After(2 * time.Minute):
			t.Fatal("not every body is let in")
		}
	}
	if got := send(strings.NewReader(strings.Repeat("x", large)), large); got.StatusCode != 503 ||
		got.Header.Get("Retry-After") == "" {
		t.Errorf("one body more: %d", got.StatusCode)
	}
	if got := send(strings.NewReader("small"), 5); got.StatusCode != 200 {
		t.Errorf("a small one: %d", got.StatusCode)
	}
	for _, w := range held {
		if _, err := w.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		_ = w.Close()
	}
	work.Wait()
	if got := send(strings.NewReader(strings.Repeat("x", large)), large); got.StatusCode != 200 {
		t.Errorf("afterwards: %d", got.StatusCode)
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	f := setup(t)
	body := `{"tool":"bash"}`
	for _, ct := range []string{"", "application/json", "application/json; charset=utf-8", "Application/JSON"} {
		f.call("POST", "/v1/runs", "operator", body, "Content-Type", ct).json(t, 201)
	}
	for _, ct := range []string{"text/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
		"text/plain", "application/json; charset=utf-16", "application/merge-patch+json", ";;"} {
		f.call("POST", "/v1/runs", "operator", body, "Content-Type", ct).problem(t, 415)
	}
	f.call("POST", "/v1/runs", "operator", body, "Content-Encoding", "gzip").problem(t, 415)
	f.call("POST", "/v1/runs/"+knownRun+"/cancel", "operator", "", "Content-Type", "application/x-www-form-urlencoded").
		json(t, 200)
}

// FuzzStrict checks that accepted JSON decodes the same for every reader: re-encoded, it is accepted again, and it
// contains no NUL.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,2,{"b":null}]}`, `{"a":1,"a":2}`, `"\ud800"`, `"\ud83d\ude00"`, `1e400`,
		`[[[[]]]]`, "\"\x00\"", `{"a":1}x`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if httpapi.Strict(data) != nil {
			return
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("accepted %q: %v", data, err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := httpapi.Strict(again); err != nil {
			t.Fatalf("%q became %q: %v", data, again, err)
		}
		if bytes.Contains(again, []byte(`\u0000`)) && !bytes.Contains(again, []byte(`\\u0000`)) {
			t.Fatalf("a NUL passed: %q", data)
		}
	})
}

// TestUnreadBody: a handler that reads the body itself gets it within the limit, and a fault beyond it.
func TestUnreadBody(t *testing.T) {
	t.Parallel()
	const limit = 2 << 20
	f := setup(t, func(p *httpapi.Params) {
		p.Routes = append(p.Routes, httpapi.Routes{Name: "unread", Register: func(r *httpapi.Router) {
			r.Raw(httpapi.Route{
				Method: "POST", Path: "/unread", ID: "take-unread", Tag: "system", Summary: "s", Description: "d",
				Access: httpapi.Public(), Status: 200, Example: "x", Harmless: true, Unread: true,
				Consumes: "text/plain", MaxBody: limit, Errors: []int{404},
			}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("no") {
					httpapi.WriteError(w, r, identity.NotAllowed.New("no"))
					return
				}
				n, err := io.Copy(io.Discard, r.Body)
				if err != nil {
					_, again := r.Body.Read(make([]byte, 1))
					httpapi.WriteError(w, r, errors.Join(err, again))
					return
				}
				httpapi.WriteJSON(w, r, 200, n)
			}))
		}})
	})
	send := func(query, media string, size int) (int, string) {
		resp, err := http.Post(f.url+"/unread"+query, media, strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	for _, c := range []struct {
		query, media string
		size, status int
		want         string
	}{
		{"", "text/plain", limit, 200, strconv.Itoa(limit)}, {"", "text/plain", 0, 200, "0"},
		{"", "text/plain", limit + 1, 413, "too_large"}, {"", "text/plain", 3 * limit, 413, "too_large"},
		{"", "application/json", 1, 415, "unsupported_media_type"}, {"?no", "text/plain", limit / 4, 403, "forbidden"},
	} {
		if status, body := send(c.query, c.media, c.size); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%+v: %d %s", c, status, body)
		}
	}
}
