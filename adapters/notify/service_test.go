package notify_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/notify/notifytest"
)

// sent is a request that a service received.
type sent struct {
	path   string
	query  string
	header http.Header
	body   []byte
	text   string // decoded
}

// validator checks a request against the documentation of a service and returns the texts in it.
type validator func(r *http.Request, body []byte) (string, error)

// counterpart is a strict fake of a service.
type counterpart struct {
	validate validator
	path     string
	url      string

	mu        sync.Mutex
	behaviour notifytest.Behaviour
	took      []sent
	asked     int
}

// serve starts a service under path.
func serve(t testing.TB, path string, j validator) *counterpart {
	t.Helper()
	s := &counterpart{validate: j, path: path}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *counterpart) behave(b notifytest.Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviour = b
}

func (s *counterpart) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, len(s.took))
	for _, m := range s.took {
		out = append(out, m.text)
	}
	return out
}

// last returns the last request.
func (s *counterpart) last(t testing.TB) sent {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.took) == 0 {
		t.Fatal("nothing arrived")
	}
	return s.took[len(s.took)-1]
}

func (s *counterpart) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *counterpart) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	s.mu.Lock()
	s.asked++
	b := s.behaviour
	s.mu.Unlock()
	switch {
	case err != nil:
		http.Error(w, "broken", http.StatusBadRequest)
	case b == notifytest.Refuses:
		repeat(w, r, body)
	case b == notifytest.Hangs:
		<-r.Context().Done()
	case b == notifytest.HangsUp:
		panic(http.ErrAbortHandler)
	case b == notifytest.Floods:
		flood(w)
	default:
		s.take(w, r, body)
	}
}

func (s *counterpart) take(w http.ResponseWriter, r *http.Request, body []byte) {
	err := wellFormed(r, s.path)
	text := ""
	if err == nil {
		text, err = s.validate(r, body)
	}
	if err != nil {
		http.Error(w, "form: "+err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, sent{path: r.URL.EscapedPath(), query: r.URL.RawQuery, header: r.Header.Clone(), body: body,
		text: text})
	w.WriteHeader(http.StatusOK)
}

// wellFormed checks what every service requires.
func wellFormed(r *http.Request, path string) error {
	switch {
	case r.Method != http.MethodPost:
		return errors.New("no POST")
	case r.URL.EscapedPath() != path:
		return fmt.Errorf("the path is %s", r.URL.EscapedPath())
	case r.Header.Get("User-Agent") != "Writ/1.2.3":
		return fmt.Errorf("the agent is %q", r.Header.Get("User-Agent"))
	case r.Header.Get("Referer") != "" || r.Header.Get("Cookie") != "":
		return errors.New("there is a referer or a cookie")
	}
	return nil
}

// repeat answers with an error that repeats the request in several forms.
func repeat(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusForbidden)
	auth := r.Header.Get("Authorization")
	_, credentials, _ := strings.Cut(auth, " ")
	user, password, _ := r.BasicAuth()
	fmt.Fprintf(w, "%s\x1b %s %s %s %s %s\n", password, strings.ToUpper(credentials), r.RequestURI, user, auth, body)
	fmt.Fprintf(w, "%s %s", base64.StdEncoding.EncodeToString([]byte(r.RequestURI)),
		base64.StdEncoding.EncodeToString(body))
}

// flood answers with an error of endless length.
func flood(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusInternalServerError)
	chunk := bytes.Repeat([]byte("flood "), 8<<10)
	for n := 0; n < notifytest.Flood; n += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// strict decodes JSON that has exactly the members of out.
func strict(r *http.Request, body []byte, out any) error {
	if r.Header.Get("Content-Type") != "application/json" {
		return fmt.Errorf("the type is %q", r.Header.Get("Content-Type"))
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(out); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("something follows")
	}
	return nil
}
