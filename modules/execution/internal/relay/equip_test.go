package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

func sealed(r *runs.Run) { r.Spec.CredentialIDs = []string{"crd_1"} }

// TestSecretsAreInTheGrantAlone makes every call of a worker: only the answer to the claim contains the secret, once.
// Keeps T03.
func TestSecretsAreInTheGrantAlone(t *testing.T) {
	t.Parallel()
	w := one(t)
	id := w.submit(sealed, func(r *runs.Run) { r.Spec.InventoryID, r.Spec.ProjectID = "inv_1", "prj_1" })
	g, h := w.claim("w")
	if g.Run.ID != id || g.Secrets.Env["TOKEN"].Reveal() != canary {
		t.Fatalf("%+v", g)
	}
	ctx := t.Context()
	run, err := w.relay.Run(ctx, h)
	w.must(err)
	beat, err := w.relay.Beat(ctx, h)
	w.must(err)
	inventory, err := w.relay.Inventory(ctx, h)
	w.must(err)
	again, _, err := w.relay.Claim(ctx, asks("w"))
	w.must(err)
	raw, err := json.Marshal([]any{run, beat, inventory, again, g.Run})
	w.must(err)
	if strings.Contains(string(raw), canary) || strings.Contains(w.log.text(), canary) {
		t.Errorf("the secret is told: %s %s", raw, w.log.text())
	}
	w.must(w.relay.Save(ctx, h, ends(runs.Succeeded)))
	w.until("the release", func() bool { return w.vault.let(secrets.Owner{ID: id, Epoch: 1}) })
}

// wanted are the requirements of each project.
type wanted struct {
	catalog.Repository
	fails error
}

func (w wanted) Wanted(_ context.Context, id string) (catalog.Repository, bool, error) {
	return w.Repository, id == "prj_1", w.fails
}

// TestRequirementsAreGranted checks that a worker gets the login for the requirements that it has to install, which
// masks its reports, that a worker which installs none gets no such run, and that a run whose login cannot be had
// fails.
func TestRequirementsAreGranted(t *testing.T) {
	t.Parallel()
	w := one(t)
	w.relay.Requirements = wanted{Repository: catalog.Repository{URL: "https://git.example/a", Login: catalog.Login{
		Username: "u", Password: canary, Key: "second" + canary}}}
	ctx := t.Context()
	w.submit(func(r *runs.Run) { r.Spec.ProjectID = "prj_2" })
	if g, _ := w.claim("w"); g.Requirements != nil {
		t.Errorf("%+v", g)
	}
	refused := w.submit(func(r *runs.Run) { r.Spec.ProjectID = "prj_1" })
	old := asks("old")
	old.Worker.Installs = false
	if g, _, err := w.relay.Claim(ctx, old); g != nil || err != nil {
		t.Errorf("%+v %v", g, err)
	}
	if r := w.run(refused); r.Status != runs.Failed || r.Begun || !strings.Contains(r.Error,
		"the worker old does not install any; upgrade it") {
		t.Errorf("%s (%s)", r.Status, r.Error)
	}
	w.submit(func(r *runs.Run) { r.Spec.ProjectID = "prj_1" })
	g, h := w.claim("w")
	if g.Requirements == nil || g.Requirements.Login.Password.Reveal() != canary || len(g.Secrets.Hide) != 2 {
		t.Fatalf("%+v", g)
	}
	_, err := w.relay.AppendLog(ctx, h, runs.LogChunk{Data: []byte("cloning with " + canary + "\n")})
	w.must(err)
	save := ends(runs.Failed)
	save.Error = "second" + canary + " is refused"
	w.must(w.relay.Save(ctx, h, save))
	if r := w.run(h.RunID); r.Error != "*** is refused" {
		t.Errorf("the error is %q", r.Error)
	}
	w.relay.Requirements = wanted{fails: catalog.SyncFailed.New("the credential is gone")}
	failed := w.submit(func(r *runs.Run) { r.Spec.ProjectID = "prj_1" })
	good := w.submit()
	if g, _ := w.claim("w"); g.Run.ID != good {
		t.Errorf("%+v", g)
	}
	if r := w.run(failed); r.Status != runs.Failed || !strings.Contains(r.Error, "the credential is gone") {
		t.Errorf("%s (%s)", r.Status, r.Error)
	}
}

// TestSecretsThatCannotBeHad checks that such a run ends with the text of the fault, for every failure of an engine,
// and that the claim continues with the next run.
func TestSecretsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	const begin = "what the run names could not be provided"
	for name, c := range map[string]struct {
		does func(context.Context, secrets.Owner, []string) error
		end  string
	}{
		"a fault": {func(context.Context, secrets.Owner, []string) error {
			return secrets.Unresolved.New("the credential crd_1: its engine vault did not answer").
				Because(errors.New("dial " + canary))
		}, begin + ": the credential crd_1: its engine vault did not answer"},
		"a defect": {func(context.Context, secrets.Owner, []string) error { return errors.New(canary) }, begin},
		"a panic":  {func(context.Context, secrets.Owner, []string) error { panic(canary) }, begin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := one(t)
			w.vault.does(c.does)
			bad, worse, good := w.submit(sealed), w.submit(sealed), w.submit()
			if g, _ := w.claim("w"); g.Run.ID != good {
				t.Errorf("given away is %+v", g.Run)
			}
			for _, id := range []string{bad, worse} {
				r := w.run(id)
				if r.Status != runs.Failed || r.Error != c.end || r.Begun {
					t.Errorf("the run is %s: %q", r.Status, r.Error)
				}
				w.until("the release", func() bool { return w.vault.let(secrets.Owner{ID: id, Epoch: 1}) })
			}
			if name != "a panic" && !strings.Contains(w.log.text(), canary) {
				t.Error("the cause is not logged") // which is for those who run the server
			}
		})
	}
}

// TestSecretsMayComeLater checks that a run is released while the store of secrets does not answer, and granted
// afterwards.
func TestSecretsMayComeLater(t *testing.T) {
	t.Parallel()
	w := one(t)
	var asked atomic.Int32
	w.vault.does(func(context.Context, secrets.Owner, []string) error {
		if asked.Add(1) > 2 {
			return nil
		}
		return &fault.Error{Kind: fault.Unavailable, Message: "the store does not answer"}
	})
	id := w.submit(sealed)
	if g, _, err := w.relay.Claim(t.Context(), asks("w")); g != nil || err != nil {
		t.Fatalf("%v %v", g, err)
	}
	if r := w.run(id); r.Status != runs.Pending || asked.Load() != 1 {
		t.Errorf("the run is %s after %d tries", r.Status, asked.Load())
	}
	if g, _, err := w.relay.Claim(t.Context(), asks("w")); g != nil || err != nil || w.run(id).Epoch != 1 {
		t.Errorf("it is tried again at once: %v %v", g, err)
	}
	c := asks("w")
	c.WaitSeconds = 30
	g, _, err := w.relay.Claim(t.Context(), c)
	w.must(err)
	if g == nil || g.Run.ID != id || g.Run.Epoch != 3 || g.Secrets.Env["TOKEN"].Reveal() != canary {
		t.Errorf("%+v", g)
	}
	w.until("the release", func() bool {
		return w.vault.let(secrets.Owner{ID: id, Epoch: 1}) && w.vault.let(secrets.Owner{ID: id, Epoch: 2})
	})
}

// TestNobodyWaitsForTheSecrets checks that a run is pending again if its worker leaves or the relay closes while its
// secrets are fetched.
func TestNobodyWaitsForTheSecrets(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *fixture, leave context.CancelFunc){
		"the worker leaves":   func(_ *fixture, leave context.CancelFunc) { leave() },
		"the relay is closed": func(w *fixture, _ context.CancelFunc) { go w.relay.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := one(t)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			w.vault.does(func(ctx context.Context, _ secrets.Owner, _ []string) error {
				end(w, leave)
				<-ctx.Done()
				return ctx.Err()
			})
			id := w.submit(sealed)
			g, _, err := w.relay.Claim(ctx, asks("w"))
			if g != nil || errors.Is(err, context.Canceled) != (name == "the worker leaves") {
				t.Errorf("%v %v", g, err)
			}
			if r := w.run(id); r.Status != runs.Pending || r.Error != "" {
				t.Errorf("the run is %s: %s", r.Status, r.Error)
			}
		})
	}
}

// TestWithoutAProvider checks that a run that names credentials fails.
func TestWithoutAProvider(t *testing.T) {
	t.Parallel()
	w := one(t)
	w.relay.Secrets = nil
	id := w.submit(sealed)
	if g, _, err := w.relay.Claim(t.Context(), asks("w")); g != nil || err != nil || w.run(id).Status != runs.Failed {
		t.Errorf("%v %v", g, err)
	}
}
