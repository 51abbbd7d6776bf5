package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// letter is one request to a receiver.
type letter struct {
	path   string // with its query
	header http.Header
	body   []byte
}

// signed reports whether a key made the signature over the raw body.
func (l letter) signed(key string) bool {
	m := hmac.New(sha256.New, []byte(key))
	m.Write(l.body)
	return hmac.Equal([]byte(l.header.Get("Writ-Signature")), []byte("sha256="+hex.EncodeToString(m.Sum(nil))))
}

// sink is a receiver of notifications.
type sink struct {
	*httptest.Server
	t     *testing.T
	conns atomic.Int32 // connections ever

	mu      sync.Mutex
	letters []letter
}

// reply answers the nth request, counted from 1, at a path.
type reply func(n int, w http.ResponseWriter, r *http.Request)

// newSink starts a receiver on a free port of this machine. A nil answer is 200.
func newSink(t *testing.T, answer reply) *sink {
	t.Helper()
	return sinkAt(t, "127.0.0.1:0", answer)
}

func sinkAt(t *testing.T, address string, answer reply) *sink {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{t: t}
	s.Server = &httptest.Server{Listener: l, Config: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the other side broke off
			}
			n := s.record(letter{r.URL.RequestURI(), r.Header.Clone(), body})
			if r.Method != http.MethodPost {
				t.Errorf("the receiver is asked to %s %s", r.Method, r.URL.Path)
			}
			if answer != nil {
				answer(n, w, r)
			}
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.conns.Add(1)
			}
		},
	}}
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// record stores a letter and returns the number of letters at its path.
func (s *sink) record(l letter) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letters = append(s.letters, l)
	n := 0
	for _, x := range s.letters {
		if x.path == l.path {
			n++
		}
	}
	return n
}

// at returns the letters at a path.
func (s *sink) at(path string) []letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.letters), func(l letter) bool { return l.path != path })
}

// all returns all letters.
func (s *sink) all() []letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.letters)
}

// await waits until n letters have arrived at a path.
func (s *sink) await(path string, n int) []letter {
	s.t.Helper()
	harness.Eventually(s.t, awhile, fmt.Sprintf("%d letters come to %s", n, path), func() bool {
		return len(s.at(path)) >= n
	})
	return s.at(path)
}

// hangs answers nothing until the other side gives up.
func hangs(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
