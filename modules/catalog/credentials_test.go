package catalog_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// naming is an object with one place for credentials. save creates it, or updates the object with the id, with the
// listed credentials.
type naming struct {
	field string
	save  func(ctx context.Context, b *bundle, s scene, id string, list ...string) (string, error)
}

func namings() map[string]naming {
	one := func(list []string) string { return strings.Join(list, "") }
	project := func(ctx context.Context, b *bundle, _ scene, id string, list ...string) (string, error) {
		p := project("named")
		p.CredentialID = one(list)
		if id != "" {
			_, err := b.Projects.Update(ctx, id, 0, p)
			return id, err
		}
		p, err := b.Projects.Create(ctx, p)
		return p.ID, err
	}
	inventory := func(ctx context.Context, b *bundle, _ scene, id string, list ...string) (string, error) {
		i := inventory("named")
		i.CredentialIDs = list
		if id != "" {
			_, err := b.Inventories.Update(ctx, id, 0, i)
			return id, err
		}
		i, err := b.Inventories.Create(ctx, i)
		return i.ID, err
	}
	source := func(ctx context.Context, b *bundle, s scene, id string, list ...string) (string, error) {
		x := source("named", s.i.ID)
		x.CredentialID = one(list)
		if id != "" {
			_, err := b.Sources.Update(ctx, id, 0, x)
			return id, err
		}
		x, err := b.Sources.Create(ctx, x)
		return x.ID, err
	}
	of := func(put func(t *catalog.Template, list []string)) func(context.Context, *bundle, scene, string,
		...string) (string, error) {
		return func(ctx context.Context, b *bundle, _ scene, id string, list ...string) (string, error) {
			x := template("named")
			put(&x, list)
			if id != "" {
				_, err := b.Templates.Update(ctx, id, 0, x)
				return id, err
			}
			x, err := b.Templates.Create(ctx, x)
			return x.ID, err
		}
	}
	return map[string]naming{
		"project": {"credential_id", project}, "inventory": {"credential_ids[0]", inventory},
		"source":   {"credential_id", source},
		"template": {"credential_ids[0]", of(func(t *catalog.Template, list []string) { t.CredentialIDs = list })},
		"selectable": {"selectable_credential_ids[0]", of(func(t *catalog.Template, list []string) {
			t.SelectableCredentialIDs = list
		})},
		"step": {"steps[1].credential_ids[0]", of(func(t *catalog.Template, list []string) {
			t.Playbook, t.Steps = "", []runs.StepSpec{{Name: "a", Playbook: "a.yml"},
				{Name: "b", Playbook: "b.yml", CredentialIDs: list}}
		})},
	}
}

// TestNamingACredentialTakesTheRightToUseIt creates objects with a credential and adds credentials to them. Existing
// references need no right.
// Keeps T52.
func TestNamingACredentialTakesTheRightToUseIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, s := t.Context(), b.scene()
		for name, n := range namings() {
			cred, another := b.credential(), b.credential()
			as := func(level access.Level) { b.guard.become(access.Manage, levels{cred: level, another: level}, "") }
			expect := func(what string, level access.Level, err error) {
				t.Helper()
				switch level {
				case access.None:
					if !secrets.CredentialNotFound.Is(err) || field(err) != n.field {
						t.Errorf("%s, %s with %q: %v", name, what, level, err)
					}
				case access.Read:
					if !runs.UseRequired.Is(err) || field(err) != n.field {
						t.Errorf("%s, %s with %q: %v", name, what, level, err)
					}
				default:
					if err != nil {
						t.Errorf("%s, %s with %q: %v", name, what, level, err)
					}
				}
			}
			id := ""
			for _, level := range []access.Level{access.None, access.Read, access.Use} {
				as(level)
				var err error
				id, err = n.save(ctx, b, s, "", cred)
				expect("made", level, err)
			}
			as(access.None)
			if _, err := n.save(ctx, b, s, id, cred); err != nil {
				t.Errorf("%s, unchanged: %v", name, err)
			}
			for _, level := range []access.Level{access.None, access.Read, access.Use} {
				as(level)
				_, err := n.save(ctx, b, s, id, another)
				expect("another", level, err)
			}
			as(access.None)
			if _, err := n.save(ctx, b, s, id); err != nil {
				t.Errorf("%s, named no more: %v", name, err)
			}
			_, err := n.save(ctx, b, s, id, another)
			expect("once named", access.None, err)
			b.guard.admins()
			if strings.HasPrefix(id, "tpl_") { // the next template has the same name
				if err := b.Templates.Delete(ctx, id, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestAnInheritedCredentialStaysWhereItIs checks that a changed place or address needs the right to use the credential.
// Keeps T52.
func TestAnInheritedCredentialStaysWhereItIs(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, s := t.Context(), b.scene()
		cred, open := b.credential(), b.credential()
		x := template("t")
		x.CredentialIDs, x.SelectableCredentialIDs = []string{open}, []string{cred}
		x = b.template(x)
		w := workflow("w")
		w.Steps[1].CredentialIDs = []string{open, cred}
		w = b.template(w)
		p := project("p")
		p.CredentialID = cred
		p = must[catalog.Project](t)(b.Projects.Create(ctx, p))
		q := source("q", s.i.ID)
		q.CredentialID, q.Config.Headers = cred, map[string]string{"X-Kind": "a"}
		q = must[catalog.InventorySource](t)(b.Sources.Create(ctx, q))
		asking := catalog.InventorySource{Kind: catalog.PluginSource, InventoryID: s.i.ID, CredentialID: cred,
			Config: catalog.SourceConfig{
				Plugin: map[string]any{"plugin": "acme.cloud", "hosts": []any{1, 2.5, map[string]any{"b": nil, "a": true}}},
			}}
		asking.Name = "asking"
		asking = must[catalog.InventorySource](t)(b.Sources.Create(ctx, asking))
		b.guard.become(access.Manage, levels{cred: access.Read}, "")

		change := func(x catalog.Template, edit func(t *catalog.Template)) error {
			x.Steps = slices.Clone(x.Steps)
			edit(&x)
			_, err := b.Templates.Update(ctx, x.ID, 0, x)
			return err
		}
		project := func(edit func(*catalog.Project)) error {
			x := p
			edit(&x)
			_, err := b.Projects.Update(ctx, x.ID, 0, x)
			return err
		}
		source := func(edit func(*catalog.InventorySource)) error {
			x := q
			edit(&x)
			_, err := b.Sources.Update(ctx, x.ID, 0, x)
			return err
		}
		for _, c := range []struct {
			name, field string
			err         error
		}{
			{"from selectable to always", "credential_ids[1]", change(x, func(t *catalog.Template) {
				t.CredentialIDs = []string{open, cred}
			})},
			{"another order", "", change(x, func(t *catalog.Template) { t.SelectableCredentialIDs = []string{open, cred} })},
			{"to another step", "steps[0].credential_ids[0]", change(w, func(t *catalog.Template) {
				t.Steps[0].CredentialIDs = []string{cred}
			})},
			{"to all steps", "credential_ids[0]", change(w, func(t *catalog.Template) { t.CredentialIDs = []string{cred} })},
			{"another limit", "", change(x, func(t *catalog.Template) { t.Limit = "web" })},
			{"another playbook", "selectable_credential_ids[0]", change(x, func(t *catalog.Template) { t.Playbook = "y.yml" })},
			{"a step before it", "steps[2].credential_ids[1]", change(w, func(t *catalog.Template) {
				t.Steps = append([]runs.StepSpec{{Name: "new", Playbook: "x.yml"}}, t.Steps...)
			})},
			{"a new step has it too", "steps[0].credential_ids[0]", change(w, func(t *catalog.Template) {
				t.Steps = append([]runs.StepSpec{{Name: "newer", Playbook: "x.yml", CredentialIDs: []string{cred}}}, t.Steps...)
			})},
			{"another name", "", project(func(p *catalog.Project) { p.Name = "other" })},
			{"another branch", "", project(func(p *catalog.Project) { p.Branch = "next" })},
			{"another address", "credential_id", project(func(p *catalog.Project) {
				p.RepoURL = "https://elsewhere.example.net/x.git"
			})},
			{"the same plugin", "", func() error { _, err := b.Sources.Update(ctx, asking.ID, 0, asking); return err }()},
			{"another config", "credential_id", func() error {
				x := asking
				x.Config.Plugin = map[string]any{"plugin": "acme.cloud", "hosts": []any{1, 2.5}}
				_, err := b.Sources.Update(ctx, x.ID, 0, x)
				return err
			}()},
			{"another interval", "", source(func(s *catalog.InventorySource) { s.SyncInterval = 600 })},
			{"another url", "credential_id", source(func(s *catalog.InventorySource) {
				s.Config.URL = "https://elsewhere.example.net/"
			})},
			{"another kind", "credential_id", source(func(s *catalog.InventorySource) {
				s.Kind, s.Config = catalog.ScriptSource, catalog.SourceConfig{Content: "#!/bin/sh\nenv"}
			})},
			{"a plugin", "credential_id", source(func(s *catalog.InventorySource) {
				s.Kind, s.Config = catalog.PluginSource, catalog.SourceConfig{Plugin: map[string]any{"plugin": "x"}}
			})},
		} {
			if c.field == "" && c.err != nil || c.field != "" && (!runs.UseRequired.Is(c.err) || field(c.err) != c.field) {
				t.Errorf("%s: %v", c.name, c.err)
			}
		}
	})
}

// recordingChecker is a Checker that records the vouched ids.
type recordingChecker struct {
	*requests
	vouched [][]string
}

func (j *recordingChecker) Check(ctx context.Context, s runs.Submission) error {
	j.vouched = append(j.vouched, s.Vouched)
	return j.requests.Check(ctx, s)
}

func (j *recordingChecker) CheckPipeline(ctx context.Context, p runs.PipelineSubmission) error {
	j.vouched = append(j.vouched, p.Vouched)
	return j.requests.CheckPipeline(ctx, p)
}

// TestTemplatesAreSavedBeforeTheirSecrets checks that a missing secret only fails the launch, and that an impossible
// launch fails the save.
func TestTemplatesAreSavedBeforeTheirSecrets(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	j := &recordingChecker{requests: b.runs}
	b.params.Checker = j
	b.make()
	creds := []string{b.credential(), b.credential(), b.credential()}
	for _, c := range []struct {
		wantErr fault.Code
		ok      bool
	}{{secrets.SecretMissing, true}, {secrets.KeyLost, true}, {secrets.Clash, false}} {
		b.runs.refuses = c.wantErr.New("as it is")
		x := template(c.wantErr.Name)
		x.CredentialIDs, x.SelectableCredentialIDs = creds[:2], creds[2:]
		made, err := b.Templates.Create(t.Context(), x)
		if c.ok && err != nil || !c.ok && !c.wantErr.Is(err) {
			t.Errorf("%s: %v", c.wantErr.Name, err)
		}
		if !c.ok {
			continue
		}
		if err := b.Launcher.Unattended(t.Context(), made.ID, nil); !c.wantErr.Is(err) {
			t.Errorf("a schedule of it: %v", err)
		}
		if _, _, err := b.Launcher.Launch(t.Context(), made.ID, catalog.Launch{}); !c.wantErr.Is(err) {
			t.Errorf("a launch of it: %v", err)
		}
	}
	if d := cmp.Diff(creds[:2], j.vouched[0]); d != "" {
		t.Errorf("who may name them is asked here, of all but what a launch chooses: %s", d)
	}
	b.runs.refuses = nil
	w := workflow("w")
	w.CredentialIDs, w.Steps[1].CredentialIDs, w.SelectableCredentialIDs = creds[:1], creds[1:2], creds[2:]
	b.template(w)
	if d := cmp.Diff(creds[:2], j.vouched[len(j.vouched)-1]); d != "" {
		t.Error(d)
	}
}

// TestWhatALaunchChoosesItNamesItself also covers a credential that a step of the template has.
func TestWhatALaunchChoosesItNamesItself(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	creds := []string{b.credential(), b.credential(), b.credential()}
	w := workflow("w")
	w.CredentialIDs, w.SelectableCredentialIDs, w.Steps[1].CredentialIDs = creds[:1], creds, creds[1:2]
	w = b.template(w)
	for _, c := range []struct{ chosen, have, vouched []string }{
		{nil, creds[:1], creds[:2]}, {creds[:1], creds[:1], creds[:2]}, {creds[1:2], creds[:2], creds[:1]},
		{creds[2:], []string{creds[0], creds[2]}, creds[:2]},
	} {
		if _, _, err := b.Launcher.Launch(t.Context(), w.ID, catalog.Launch{CredentialIDs: c.chosen}); err != nil {
			t.Fatal(err)
		}
		got := b.runs.pipelines[len(b.runs.pipelines)-1]
		if d := cmp.Diff(c.have, got.CredentialIDs) + cmp.Diff(append([]string{w.ID}, c.vouched...), got.Vouched); d != "" {
			t.Errorf("%v: %s", c.chosen, d)
		}
	}
}
