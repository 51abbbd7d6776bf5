package credentials_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets"
)

// full returns a credential of a built-in kind with every member that it can have.
func full(kind secrets.Kind) secrets.Change {
	c := change("full "+string(kind), kind, secrets.Values{})
	c.Settings = map[string]any{}
	for _, m := range kind.Members() {
		switch {
		case m.Type == secrets.Bool:
			c.Settings[m.Name] = true
		case m.Type == secrets.Object:
			c.Secret[m.Name] = `{"A":"` + canary + `"}`
		case m.Name == "private_key":
			c.Secret[m.Name] = "LOCKED\n" + canary
		case m.Secret:
			c.Secret[m.Name] = canary
		case m.Name == "auth_url":
			c.Settings[m.Name] = "https://id.example.com:5000/v3"
		default:
			c.Settings[m.Name] = "x.y"
		}
	}
	if kind == secrets.Token {
		c.Settings["env_name"] = "MY_TOKEN"
	}
	return c
}

// TestEveryKind stores a full credential of every kind: no secret of it is read back or stored unsealed.
func TestEveryKind(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		for _, kind := range secrets.Kinds() {
			c := full(kind)
			got, warnings, err := b.Credentials.Create(ctx, c)
			if err != nil || len(warnings) != 0 {
				t.Fatal(kind, warnings, err)
			}
			want := got
			want.Settings = c.Settings
			if len(c.Settings) == 0 {
				want.Settings = nil
			}
			if d := cmp.Diff(want, got); d != "" || !got.HasSecret || got.SecretVersion != 1 || got.Revision != 1 ||
				got.CreatedBy == "" {
				t.Errorf("%s: %+v %s", kind, got, d)
			}
			read := must[secrets.Credential](t)(b.Credentials.Get(ctx, got.ID))
			if d := cmp.Diff(got, read); d != "" {
				t.Errorf("%s: %s", kind, d)
			}
			if d := cmp.Diff(c.Secret, b.opened(got.ID).Secret); d != "" {
				t.Errorf("%s: sealed: %s", kind, d)
			}
			_, sealed, err := b.store.SealedByID(ctx, got.ID)
			if text := fmt.Sprintf("%#v %s", read, sealed); err != nil || strings.Contains(text, canary) {
				t.Errorf("%s: in the open: %s %v", kind, text, err)
			}
		}
		list, total, err := b.Credentials.List(ctx, secrets.Filter{Kind: secrets.AWS}, window)
		if err != nil || total != 1 || len(list) != 1 || list[0].Kind != secrets.AWS {
			t.Error(list, total, err)
		}
		if strings.Contains(b.log.String(), canary) || strings.Contains(fmt.Sprintf("%#v", b.trail.Take()), canary) {
			t.Error("a secret is in the log or in the trail")
		}
	})
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	for _, c := range []struct {
		change   secrets.Change
		codes    []string
		contains string
	}{
		{change("a", secrets.SSHPassword, secrets.Values{"password": "abc"}), []string{"short_secret"}, "secret.password"},
		{change("b", secrets.SSHPassword, secrets.Values{"password": "abcd"}), nil, ""},
		{change("c", secrets.SSHPassword, nil), []string{"no_secret"}, ""},
		{change("d", secrets.Env, secrets.Values{"vars": `{"A":"x","B":"long enough","C":""}`}), []string{"short_secret"},
			"secret.vars.A:"},
		{change("e", secrets.Env, secrets.Values{"vars": `{}`}), []string{"no_secret"}, ""},
		{change("f", secrets.AWS, secrets.Values{"session_token": "abc"}), []string{"short_secret", "no_secret"},
			"secret.session_token"},
		{change("g", secrets.Token, secrets.Values{"token": ""}), []string{"no_secret"}, ""},
	} {
		got, warnings, err := b.Credentials.Create(t.Context(), c.change)
		if err != nil {
			t.Fatal(c.change.Name, err)
		}
		var codes []string
		text := ""
		for _, w := range warnings {
			codes = append(codes, w.Code)
			text += w.Message
		}
		if d := cmp.Diff(c.codes, codes); d != "" || !strings.Contains(text, c.contains) ||
			got.HasSecret == strings.Contains(strings.Join(codes, " "), "no_secret") {
			t.Errorf("%s: %+v %s", c.change.Name, warnings, d)
		}
	}
}

// TestUpdate checks that omitted members stay and empty ones are cleared.
func TestUpdate(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		made := b.create(full(secrets.AWS))
		rename := full(secrets.AWS)
		rename.Name, rename.Secret = "renamed", nil
		got := b.update(made.ID, rename)
		if got.Name != "renamed" || !got.HasSecret || got.SecretVersion != 1 || got.Revision != 2 ||
			!got.UpdatedAt.After(made.UpdatedAt) ||
			got.CreatedAt != made.CreatedAt || b.sealer.opens() != 0 {
			t.Errorf("%+v", got)
		}
		for _, c := range []struct {
			provided, want secrets.Values
			has            bool
		}{
			{secrets.Values{"secret_access_key": "second"},
				secrets.Values{"secret_access_key": "second", "session_token": canary}, true},
			{secrets.Values{"session_token": ""}, secrets.Values{"secret_access_key": "second"}, true},
			{secrets.Values{"session_token": "third"},
				secrets.Values{"secret_access_key": "second", "session_token": "third"}, true},
			{secrets.Values{"secret_access_key": ""}, secrets.Values{"session_token": "third"}, false},
			{secrets.Values{"secret_access_key": "", "session_token": ""}, nil, false},
			{secrets.Values{"secret_access_key": "fourth"}, secrets.Values{"secret_access_key": "fourth"}, true},
		} {
			rename.Secret = c.provided
			now := b.update(made.ID, rename)
			if d := cmp.Diff(c.want, b.opened(made.ID).Secret); d != "" || now.HasSecret != c.has ||
				now.SecretVersion != got.SecretVersion+1 {
				t.Errorf("%v: %+v %s", len(c.provided), now, d)
			}
			got = now
		}
		next := change("renamed", secrets.AWS, nil)
		if got = b.update(made.ID, next); got.Settings != nil {
			t.Errorf("an omitted setting stays: %v", got.Settings)
		}
		_, _, err := b.Credentials.Update(t.Context(), made.ID, 1, next)
		if !catalog.RevisionChanged.Is(err) {
			t.Error(err)
		}
		if _, _, err := b.Credentials.Update(t.Context(), made.ID, got.Revision, next); err != nil {
			t.Error(err)
		}
		if err := b.Credentials.Delete(t.Context(), made.ID, 1); !catalog.RevisionChanged.Is(err) {
			t.Error(err)
		}
		if err := b.Credentials.Delete(t.Context(), made.ID, got.Revision+1); err != nil {
			t.Error(err)
		}
		if _, err := b.Credentials.Get(t.Context(), made.ID); !secrets.CredentialNotFound.Is(err) {
			t.Error(err)
		}
	})
}

// TestPrivateKeys validates keys together with their stored parts.
func TestPrivateKeys(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	ctx := t.Context()
	for _, c := range []struct {
		provided secrets.Values
		where    string
	}{
		{secrets.Values{"private_key": canary}, "secret.private_key"},
		{secrets.Values{"private_key": "LOCKED"}, "secret.passphrase"},
		{secrets.Values{"private_key": "LOCKED", "passphrase": "no " + canary}, "secret.passphrase"},
	} {
		_, _, err := b.Credentials.Create(ctx, change("bad", secrets.SSHKey, c.provided))
		if field(err) != c.where || strings.Contains(err.Error(), canary) {
			t.Error(err)
		}
	}
	id := b.create(change("good", secrets.SSHKey, secrets.Values{"private_key": "LOCKED", "passphrase": canary})).ID
	for _, c := range []struct {
		provided secrets.Values
		where    string
	}{
		{secrets.Values{"private_key": "LOCKED too"}, ""}, {secrets.Values{"passphrase": "other"}, "secret.passphrase"},
		{secrets.Values{"passphrase": ""}, "secret.passphrase"}, {secrets.Values{"private_key": "KEY", "passphrase": ""}, ""},
		{secrets.Values{"private_key": ""}, ""}, {secrets.Values{"passphrase": "whatever"}, ""},
		{secrets.Values{"private_key": "LOCKED"}, "secret.passphrase"},
	} {
		_, _, err := b.Credentials.Update(ctx, id, 0, change("good", secrets.SSHKey, c.provided))
		if (err == nil) != (c.where == "") || field(err) != c.where {
			t.Errorf("%s: %v", c.where, err)
		}
	}
}

// TestAnotherKind: secrets are not kept for another kind, and a credential that is referenced keeps its kind.
func TestAnotherKind(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		made := b.create(change("a", secrets.SSHPassword, secrets.Values{"password": canary}))
		template := b.ids.New("tpl_")
		b.names(template, made.ID)
		other := change("a", secrets.BecomePassword, nil)
		if _, _, err := b.Credentials.Update(ctx, made.ID, 0, other); !object.InUse.Is(err) {
			t.Error(err)
		}
		if d := cmp.Diff([]secrets.Credential{made}, b.all()); d != "" {
			t.Errorf("a refusal changed something: %s", d)
		}
		b.names(template)
		b.runs.run(made.ID, "run_1")
		if _, _, err := b.Credentials.Update(ctx, made.ID, 0, other); !object.InUse.Is(err) {
			t.Error(err)
		}
		b.runs.run(made.ID)
		got := b.update(made.ID, other)
		if got.HasSecret || got.Kind != secrets.BecomePassword || !b.opened(made.ID).Empty() || b.sealer.opens() != 0 {
			t.Errorf("%+v", got)
		}
		b.names(template, made.ID) // it can be referenced again
		if err := b.Credentials.Delete(ctx, made.ID, 0); !object.InUse.Is(err) {
			t.Error(err)
		}
	})
}

// TestKeyLost: a lost key only prevents what needs secrets sealed under it.
func TestKeyLost(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		c := full(secrets.AWS)
		made := b.create(c)
		b.sealer.lose(true)
		if _, err := b.Credentials.Get(ctx, made.ID); err != nil {
			t.Error(err)
		}
		if list, _, err := b.Credentials.List(ctx, secrets.Filter{}, window); err != nil || len(list) != 1 {
			t.Error(list, err)
		}
		c.Name, c.Secret = "renamed", nil
		b.update(made.ID, c)
		c.Secret = secrets.Values{"secret_access_key": "new one"}
		_, _, err := b.Credentials.Update(ctx, made.ID, 0, c)
		if !secrets.KeyLost.Is(err) || !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), made.ID) {
			t.Error(err)
		}
		c.Secret = secrets.Values{"secret_access_key": "new one", "session_token": ""}
		if got := b.update(made.ID, c); !got.HasSecret || got.SecretVersion != 2 {
			t.Errorf("%+v", got)
		}
		b.sealer.lose(false)
		if d := cmp.Diff(secrets.Values{"secret_access_key": "new one"}, b.opened(made.ID).Secret); d != "" {
			t.Error(d)
		}
		b.sealer.lose(true)
		if err := b.Credentials.Delete(ctx, made.ID, 0); err != nil {
			t.Error(err)
		}
	})
}

// TestSealedForOneVersion: text sealed for one credential or version does not open for another.
func TestSealedForOneVersion(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	ctx := t.Context()
	one, two := b.create(full(secrets.AWS)), b.create(full(secrets.Azure))
	_, sealed, err := b.store.SealedByID(ctx, one.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range []string{secrets.CredentialRecord(two.ID, 1), secrets.CredentialRecord(one.ID, 2), one.ID} {
		if _, err := b.sealer.Open(ctx, record, sealed); !fault.Is(err, fault.Internal) {
			t.Errorf("it opens for %s: %v", record, err)
		}
	}
}

func TestNames(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx, org := t.Context(), b.org("org_1")
		b.create(change("  web ", secrets.Token, nil))
		if _, _, err := b.Credentials.Create(ctx, change("web", secrets.AWS, nil)); !catalog.NameTaken.Is(err) {
			t.Error(err)
		}
		c := change("web", secrets.AWS, nil)
		c.Org = org
		b.create(c)
		c.Org = "org_none"
		if _, _, err := b.Credentials.Create(ctx, c); !fault.Is(err, fault.NotFound) || field(err) != "org_id" {
			t.Error(err)
		}
		list, total, err := b.Credentials.List(ctx, secrets.Filter{Name: "web", Org: org}, window)
		if err != nil || total != 1 || list[0].Org != org {
			t.Error(list, total, err)
		}
	})
}
