package extensiontest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

// place receives runs over HTTP.
type place struct {
	state atomic.Value
	mu    sync.Mutex
	heard []string
}

func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct{ ID string }
	err := json.NewDecoder(r.Body).Decode(&m)
	switch {
	case p.state.Load() == "hangs":
		<-r.Context().Done()
	case p.state.Load() == "fails" || err != nil:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.heard = append(p.heard, m.ID)
	}
}

// TestNotifier runs the suite with a typical notifier.
func TestNotifier(t *testing.T) {
	defer goleak.VerifyNone(t)
	t.Run("suite", extensiontest.Notifier{Open: func(t *testing.T) extensiontest.NotifierUnderTest {
		p := &place{}
		srv := httptest.NewServer(p)
		t.Cleanup(srv.Close)
		return extensiontest.NotifierUnderTest{
			Notifier: extension.NotifierFunc(func(ctx context.Context, run extension.EndedRun) error {
				body, err := json.Marshal(map[string]any{"ID": run.ID, "Name": run.Name, "Error": run.Error, "Record": run.Record})
				if err != nil {
					return err
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, bytes.NewReader(body))
				if err != nil {
					return errors.New("no address")
				}
				req.Close = true
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return errors.New("nobody is there")
				}
				if resp.StatusCode != http.StatusOK {
					err = errors.New("it was not taken")
				}
				return errors.Join(err, resp.Body.Close())
			}),
			Heard: func() []string {
				p.mu.Lock()
				defer p.mu.Unlock()
				return slices.Clone(p.heard)
			},
			Break: func() { p.state.Store("fails") }, Hang: func() { p.state.Store("hangs") }, Secrets: []string{srv.URL},
		}
	}}.Run)
}
