package scheduling_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

func pushed(edit ...func(*scheduling.Trigger)) scheduling.Trigger {
	t := scheduling.Trigger{Record: scheduling.Record{Record: object.Record{Name: "deploy"}}, TemplateID: tpl1,
		RequireSignature: true}
	for _, fn := range edit {
		fn(&t)
	}
	return t
}

func (b *bundle) hook(edit ...func(*scheduling.Trigger)) scheduling.NewTrigger {
	b.t.Helper()
	made, err := b.Triggers.Create(b.as("usr_1"), pushed(edit...))
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

func TestTriggerIsMade(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.org("org_1")
		got := b.hook(func(x *scheduling.Trigger) {
			x.Name, x.Org, x.Branch, x.Events = " deploy ", "org_1", "release/1.0", []string{"push", "tag_push"}
			x.LastRunID, x.LastError, x.LastFiredAt, x.Owner = "run_x", "x", start, "usr_x"
		})
		want := pushed(func(x *scheduling.Trigger) { x.Branch, x.Events = "release/1.0", []string{"push", "tag_push"} })
		want.Record = scheduling.Record{Record: object.Record{ID: got.ID, Name: "deploy", Org: "org_1", CreatedBy: "usr_1",
			CreatedAt: start, UpdatedAt: start, Revision: 1}, Owner: "usr_1"}
		same(t, "what it returns", want, got.Trigger)
		token, err := base64.RawURLEncoding.DecodeString(got.Token.Reveal())
		if err != nil || len(token) != 32 {
			t.Errorf("a token of %d bytes, %v", len(token), err)
		}
		if key, err := hex.DecodeString(got.SigningSecret.Reveal()); err != nil || len(key) != 32 {
			t.Errorf("a secret of %d bytes, %v", len(key), err)
		}
		stored, err := b.store.TriggerByToken(t.Context(), digest(got.Token.Reveal()))
		if err != nil || stored.ID != got.ID {
			t.Fatalf("%s, %v", stored.ID, err)
		}
		plain, err := b.fixture.Open(t.Context(), got.ID, stored.Sealed)
		if err != nil || string(plain) != got.SigningSecret.Reveal() {
			t.Errorf("the secret is not sealed for its trigger: %v", err)
		}
		read, err := b.Triggers.Get(b.as("usr_2"), got.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "what is read", want, read)
		list, n, err := b.Triggers.List(b.as("usr_2"), scheduling.Filter{}, page.Window{})
		if n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		same(t, "the list", []scheduling.Trigger{want}, list)
		same(t, "what it names", []string{tpl1}, b.fixture.named[got.ID])
		entries := b.fixture.Take()
		same(t, "the trail", []audit.Entry{{Action: audit.TriggerCreate,
			Object: audit.Object{Kind: "trigger", ID: got.ID, Name: "deploy"}, Detail: map[string]any{
				"template_id": tpl1, "require_signature": true, "branch": "release/1.0", "events": []any{"push", "tag_push"},
				"org_id": "org_1", "owner": "usr_1",
			}}}, entries)
		other := b.hook()
		if other.Token == got.Token || other.SigningSecret == got.SigningSecret {
			t.Error("two triggers have one secret")
		}
		for _, secret := range []string{got.Token.Reveal(), got.SigningSecret.Reveal()} {
			if strings.Contains(b.log.String()+fmt.Sprintf("%v %+v %#v", entries, got, got), secret) {
				t.Error("a secret is printed")
			}
		}
	})
}

func TestTriggerIsValidated(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.hook()
		branch := func(s string) func(*scheduling.Trigger) { return func(x *scheduling.Trigger) { x.Branch = s } }
		events := func(s ...string) func(*scheduling.Trigger) { return func(x *scheduling.Trigger) { x.Events = s } }
		many := make([]string, 21)
		for i := range many {
			many[i] = strings.Repeat("a", i+1)
		}
		named := func(x *scheduling.Trigger) { x.Name = "other" }
		for i, c := range []struct {
			edit  func(*scheduling.Trigger)
			field string
		}{
			{func(x *scheduling.Trigger) { x.Name = "" }, "name"},
			{func(x *scheduling.Trigger) { x.Name = "a\u2028b" }, "name"},
			{func(x *scheduling.Trigger) { x.TemplateID = "" }, "template_id"},
			{func(x *scheduling.Trigger) { x.Org = "org_none" }, "org_id"},
			{branch("-x"), "branch"}, {branch("a b"), "branch"}, {branch("a..b"), "branch"}, {branch("a//b"), "branch"},
			{branch("/a"), "branch"},
			{branch("a/"), "branch"}, {branch("a."), "branch"}, {branch("a.lock"), "branch"}, {branch("a.lock/b"), "branch"},
			{branch(".a"), "branch"},
			{branch("a/.b"), "branch"}, {branch("a~1"), "branch"}, {branch("a^"), "branch"}, {branch("a:b"), "branch"},
			{branch("a?"), "branch"},
			{branch("a*"), "branch"}, {branch("a["), "branch"}, {branch("a\\b"), "branch"}, {branch("a@{b"), "branch"},
			{branch("@"), "branch"},
			{branch("a\nb"), "branch"}, {branch("a\x00"), "branch"}, {branch(strings.Repeat("a", 256)), "branch"},
			{events(many...), "events"}, {events("push", ""), "events[1]"}, {events("Push"), "events[0]"},
			{events("push hook"), "events[0]"},
			{events("push", "push"), "events[1]"}, {events(strings.Repeat("a", 65)), "events[0]"},
		} {
			_, err := b.Triggers.Create(b.as("usr_1"), pushed(named, c.edit))
			refused(t, fmt.Sprint(i, " ", c.field), err, invalid, c.field)
		}
		_, err := b.Triggers.Create(b.as("usr_1"), pushed())
		refused(t, "the name again", err, scheduling.NameTaken, "name")
		_, err = b.Triggers.Create(b.as("usr_1"), pushed(named, func(x *scheduling.Trigger) { x.TemplateID = "tpl_x" }))
		refused(t, "no id", err, catalog.TemplateNotFound, "template_id")
		b.fixture.set(func() { b.fixture.absent = map[string]bool{tpl1: true} })
		_, err = b.Triggers.Create(b.as("usr_1"), pushed(named))
		refused(t, "no template", err, catalog.TemplateNotFound, "template_id")
		b.fixture.set(func() { b.fixture.absent = nil; b.fixture.levels = map[string]access.Level{tpl1: access.None} })
		_, err = b.Triggers.Create(b.as("usr_1"), pushed(named))
		refused(t, "an unreadable template", err, catalog.TemplateNotFound, "template_id")
		b.fixture.set(func() { b.fixture.levels = map[string]access.Level{tpl1: access.Read} })
		_, err = b.Triggers.Create(b.as("usr_1"), pushed(named))
		refused(t, "a template that may not be used", err, runs.UseRequired, "template_id")
		b.fixture.set(func() { b.fixture.levels = nil })
		for i, name := range []string{"main", "feature/x_1.2+3", "größe", "a@b", "#1", strings.Repeat("a", 255)} {
			b.hook(branch(name), func(x *scheduling.Trigger) { x.Name = fmt.Sprint(i) })
		}
	})
}

func TestTriggerRights(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		b.org("org_1")
		b.org("org_2")
		x := b.hook(func(x *scheduling.Trigger) { x.Org = "org_1" })
		b.fixture.Take()
		all := func() map[string]error {
			_, update := b.Triggers.Update(b.as("usr_2"), x.ID, 0, pushed(func(x *scheduling.Trigger) { x.Org = "org_1" }))
			_, rotate := b.Triggers.Rotate(b.as("usr_2"), x.ID)
			return map[string]error{"update": update, "rotate": rotate, "delete": b.Triggers.Delete(b.as("usr_2"), x.ID, 0)}
		}
		b.fixture.set(func() { b.fixture.orgs = map[string]bool{"org_1": false, "": false} })
		for what, err := range all() {
			refused(t, what, err, scheduling.NotAllowed, "")
		}
		for _, org := range []string{"", "org_1"} {
			_, err := b.Triggers.Create(b.as("usr_2"), pushed(func(x *scheduling.Trigger) { x.Org = org }))
			refused(t, "create", err, scheduling.NotAllowed, "")
		}
		b.fixture.set(func() { b.fixture.orgs = map[string]bool{"org_2": false} })
		_, err := b.Triggers.Update(b.as("usr_2"), x.ID, 0, pushed(func(x *scheduling.Trigger) { x.Org = "org_2" }))
		refused(t, "move", err, scheduling.NotAllowed, "")
		b.fixture.set(func() { b.fixture.levels = map[string]access.Level{tpl1: access.None} })
		for what, err := range all() {
			refused(t, what+" without its template", err, scheduling.TriggerNotFound, "")
		}
		_, err = b.Triggers.Get(b.as("usr_2"), x.ID)
		refused(t, "get", err, scheduling.TriggerNotFound, "")
		if e := b.fixture.Take(); len(e) != 0 {
			t.Errorf("%+v", e)
		}
	})
}

func TestTriggerIsChanged(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		was := b.hook()
		b.fixture.Take()
		tpl2 := id("tpl", 2)
		got, err := b.Triggers.Update(b.as("usr_2"), was.ID, 1, pushed(func(x *scheduling.Trigger) {
			x.Name, x.TemplateID, x.RequireSignature, x.Branch, x.Events = "other", tpl2, false, "main", []string{}
		}))
		if err != nil {
			t.Fatal(err)
		}
		want := was.Trigger
		want.Name, want.TemplateID, want.RequireSignature, want.Branch, want.Owner, want.Revision = "other", tpl2, false,
			"main", "usr_2", 2
		same(t, "what it returns", want, got)
		same(t, "what it names", []string{tpl2}, b.fixture.named[was.ID])
		_, err = b.Triggers.Update(b.as("usr_2"), was.ID, 1, pushed())
		refused(t, "an old revision", err, scheduling.RevisionChanged, "")
		// The author of the last change becomes the owner.
		b.fixture.set(func() { b.fixture.levels = map[string]access.Level{tpl2: access.Read} })
		_, err = b.Triggers.Update(b.as("usr_3"), was.ID, 0, got)
		refused(t, "without the right to use the template", err, runs.UseRequired, "template_id")
		b.fixture.set(func() { b.fixture.levels = nil })
		rotated, err := b.Triggers.Rotate(b.as("usr_3"), was.ID)
		if err != nil {
			t.Fatal(err)
		}
		want.Revision = 3
		same(t, "rotated", want, rotated.Trigger)
		stored, err := b.store.TriggerByToken(t.Context(), digest(was.Token.Reveal()))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := b.fixture.Open(t.Context(), was.ID, stored.Sealed)
		if err != nil || string(plain) != rotated.SigningSecret.Reveal() || rotated.SigningSecret == was.SigningSecret ||
			rotated.Token.Reveal() != "" {
			t.Errorf("the secret was not replaced: %v", err)
		}
		refused(t, "deleting an old one", b.Triggers.Delete(b.as("usr_2"), was.ID, 2), scheduling.RevisionChanged, "")
		if err := b.Triggers.Delete(b.as("usr_2"), was.ID, 3); err != nil {
			t.Fatal(err)
		}
		var actions []audit.Action
		for _, e := range b.fixture.Take() {
			actions = append(actions, e.Action)
		}
		same(t, "the trail", []audit.Action{audit.TriggerUpdate, audit.TriggerRotate, audit.TriggerDelete}, actions)
		if b.fixture.named[was.ID] != nil {
			t.Error("a trigger that is gone names a template")
		}
		_, err = b.Hooks.Deliver(t.Context(), github(was, start.Add(time.Second).String()))
		refused(t, "its hook", err, scheduling.TriggerNotFound, "")
	})
}
