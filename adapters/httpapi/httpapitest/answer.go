package httpapitest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Answer is an answer of the server. Its checks fail the test that sent the request.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	t      *testing.T
}

// Problem checks the shape that every error has, and its reason. It returns the locations of the fields that are wrong.
func (a Answer) Problem(status int, reason string) []string {
	a.t.Helper()
	var p struct {
		Detail, Error, Reason string
		Status                int
		Errors                []struct{ Location string }
	}
	if a.Status != status || a.Header.Get("Content-Type") != "application/problem+json" {
		a.t.Fatalf("status %d, want %d: %v %s", a.Status, status, a.Header, a.Body)
	}
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil {
		a.t.Fatalf("%v: %s", err, a.Body)
	}
	if p.Error == "" || p.Error != p.Detail || p.Status != status || p.Reason != reason {
		a.t.Errorf("want %s: %s", reason, a.Body)
	}
	if status == http.StatusUnauthorized && a.Header.Get("WWW-Authenticate") != "Bearer" {
		a.t.Errorf("no challenge: %v", a.Header)
	}
	var where []string
	for _, e := range p.Errors {
		where = append(where, e.Location)
	}
	return where
}

// Is checks the status and the whole body, given as JSON of any spacing and order. Numbers are compared as they are
// written.
func (a Answer) Is(status int, want string) Answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	if canon(a.t, a.Body) != canon(a.t, want) {
		a.t.Errorf("body\n%s\nwant\n%s", a.Body, want)
	}
	return a
}

// Has checks the first value of a header; the empty text is its absence.
func (a Answer) Has(name, want string) Answer {
	a.t.Helper()
	if got := a.Header.Get(name); got != want {
		a.t.Errorf("%s: %q, want %q", name, got, want)
	}
	return a
}

// canon writes JSON in one form. An absent body stays as it is.
func canon(t *testing.T, s string) string {
	t.Helper()
	if s == "" {
		return ""
	}
	if !json.Valid([]byte(s)) {
		t.Fatalf("no JSON: %s", s)
	}
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
