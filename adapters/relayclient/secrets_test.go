package relayclient_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

const canary = "CANARYzQ8mJ4v7Xw2"

// sealed makes every grant of a world bring secrets.
func (w *fixture) sealed() {
	w.fake.set(func() {
		w.fake.grant = func(g *execution.RelayGrant) {
			g.Secrets = &execution.RelaySecrets{
				Env:       map[string]string{"TOKEN": canary + g.Run.ID},
				ExtraVars: map[string]json.RawMessage{"n": json.RawMessage("1.10")},
				Files:     []execution.RelayFile{{Name: "conf", Content: []byte(canary + "\x00\xff")}}, Hide: []string{canary},
				Login: execution.RelayLogin{User: "u", Password: canary},
			}
		}
	})
}

func owner(a *runs.Assignment) secrets.Owner {
	return secrets.Owner{ID: a.Lease.RunID, Epoch: a.Lease.Epoch}
}

func TestSecretsAreProvidedOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	w.sealed()
	a, b := w.claimed(), w.claimed()
	for _, o := range []secrets.Owner{{ID: a.Lease.RunID}, {ID: a.Lease.RunID, Epoch: 2}, {ID: "run_x", Epoch: 1}} {
		if _, err := w.Secrets().Provide(t.Context(), o, []string{"crd_1"}); !runs.LeaseLost.Is(err) {
			t.Errorf("secrets for %+v: %v", o, err)
		}
	}
	var got secrets.Injection
	var provided atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			in, err := w.Secrets().Provide(t.Context(), owner(a), []string{"crd_1"})
			switch {
			case err == nil:
				provided.Add(1)
				got = in
			case !secrets.Unresolved.Is(err) || strings.Contains(err.Error(), canary):
				t.Error(err)
			}
		})
	}
	all.Wait()
	want := secrets.Injection{
		Env:       map[string]secret.Text{"TOKEN": secret.Text(canary + a.Lease.RunID)},
		ExtraVars: map[string]any{"n": json.Number("1.10")},
		Files:     []secrets.File{{Name: "conf", Content: canary + "\x00\xff"}}, Hide: []secret.Text{canary},
		Login: secrets.Login{User: "u", Password: canary},
	}
	if diff := cmp.Diff(want, got); diff != "" || provided.Load() != 1 {
		t.Errorf("%d times: %s", provided.Load(), diff)
	}
	w.Secrets().Release(t.Context(), owner(b))
	if _, err := w.Secrets().Provide(t.Context(), owner(b), nil); !secrets.Unresolved.Is(err) {
		t.Errorf("secrets that were let go of: %v", err)
	}
}

func TestSecretsEndWithTheirClaim(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	w.sealed()
	for name, end := range map[string]func(a *runs.Assignment){
		"finished": func(a *runs.Assignment) { w.must(w.Finish(t.Context(), a.Lease, runs.Ending{Status: runs.Failed})) },
		"released": func(a *runs.Assignment) {
			w.must(w.Release(t.Context(), a.Lease))
			w.fake.set(func() { w.fake.records[a.Lease.RunID].run.Status = runs.Canceled })
		},
		"lost": func(a *runs.Assignment) {
			w.fake.set(func() { w.fake.records[a.Lease.RunID].run.Status = runs.Canceled })
			_, err := w.Beat(t.Context(), worker, []runs.Lease{a.Lease})
			w.must(err)
		},
		"claimed again": func(a *runs.Assignment) {
			w.fake.expire(a.Lease.RunID)
			w.must(w.Finish(t.Context(), w.claim().Lease, runs.Ending{Status: runs.Failed}))
		},
	} {
		a := w.claimed()
		end(a)
		if _, err := w.Secrets().Provide(t.Context(), owner(a), nil); !runs.LeaseLost.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	none := newFixture(t, nil)
	a := none.claimed()
	if in, err := none.Secrets().Provide(t.Context(), owner(a), nil); err != nil || !cmp.Equal(in, secrets.Injection{}) {
		t.Errorf("a claim without secrets: %+v, %v", in, err)
	}
}

func TestSecretsAreNowhereElse(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	w.sealed()
	a := w.claimed()
	w.must(w.Begin(t.Context(), a.Lease))
	for _, text := range []string{w.log.String(), fmt.Sprintf("%+v %#v", a, a), fmt.Sprintf("%+v", a.Run)} {
		if strings.Contains(text, canary) {
			t.Errorf("the secret is told: %s", text)
		}
	}
	w.must(filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), canary) {
			t.Errorf("the secret is in %s", path)
		}
		return err
	}))
	w.again() // the next life has none
	if list, err := w.Leased(t.Context(), worker); err != nil || len(list) != 1 {
		t.Fatalf("held are %v, %v", list, err)
	}
	if _, err := w.Secrets().Provide(t.Context(), owner(a), nil); !secrets.Unresolved.Is(err) {
		t.Errorf("secrets of an earlier life: %v", err)
	}
}
