package scheduling_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/scheduling"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// counting counts the calls of the stores.
type counting struct {
	scheduling.TriggerStore
	scheduling.DeliveryStore
	tokens, rest atomic.Int64
}

func (c *counting) TriggerByToken(ctx context.Context, hash [32]byte) (scheduling.StoredTrigger, error) {
	c.tokens.Add(1)
	return c.TriggerStore.TriggerByToken(ctx, hash)
}

func (c *counting) Remember(
	ctx context.Context, t string, k scheduling.DeliveryKeys, leaseTime time.Duration,
) (scheduling.Delivered, bool, error) {
	c.rest.Add(1)
	return c.DeliveryStore.Remember(ctx, t, k, leaseTime)
}

func (c *counting) SettleDelivery(
	ctx context.Context, t string, k scheduling.DeliveryKeys, x scheduling.Delivered, failure string,
) error {
	c.rest.Add(1)
	return c.DeliveryStore.SettleDelivery(ctx, t, k, x, failure)
}

// eachHook is eachEngine with counting stores.
func eachHook(t *testing.T, test func(t *testing.T, b *bundle, c *counting)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		c := &counting{}
		b := setup(t, d, func(p *module.Params) {
			c.TriggerStore, c.DeliveryStore = p.Triggers, p.Deliveries
			p.Triggers, p.Deliveries = c, c
		})
		test(t, b, c)
	})
}

// outside returns the context of a forge.
func (b *bundle) outside() context.Context {
	return actor.With(b.t.Context(), actor.Actor{Type: actor.Anonymous, Name: "anonymous", IP: "198.51.100.7"})
}

// fires sends a delivery that creates a run, and returns the run's variable.
func (b *bundle) fires(d scheduling.Delivery) map[string]any {
	b.t.Helper()
	before := len(b.fixture.runs())
	got, err := b.Hooks.Deliver(b.outside(), d)
	list := b.fixture.runs()
	if err != nil || got.RunID == "" || !got.Done || got.Ignored != "" || len(list) != before+1 {
		b.t.Fatalf("%+v, %v, %d runs", got, err, len(list)-before)
	}
	var push map[string]any
	if err := json.Unmarshal(list[before].Launch.SystemVars["writ_push"], &push); err != nil ||
		len(list[before].Launch.SystemVars) != 1 {
		b.t.Fatalf("%s, %v", list[before].Launch.SystemVars, err)
	}
	return push
}

// ignores sends a delivery that creates none.
func (b *bundle) ignores(d scheduling.Delivery, why string) {
	b.t.Helper()
	before := len(b.fixture.runs())
	got, err := b.Hooks.Deliver(b.outside(), d)
	if err != nil || !strings.Contains(got.Ignored, why) || got.RunID != "" || !got.Done ||
		len(b.fixture.runs()) != before {
		b.t.Errorf("%+v, %v, want ignored for %q", got, err, why)
	}
}

func learns(ref, branch, commit, repository, pusher string) map[string]any {
	return map[string]any{"ref": ref, "branch": branch, "commit": commit, "repository": repository, "pusher": pusher}
}

func TestProviders(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook(func(x *scheduling.Trigger) {
			x.Events = []string{"push", "tag_push", "pull_request", "merge_request", "release"}
		})
		for i, c := range []struct {
			from func(scheduling.NewTrigger, string, string, string) scheduling.Delivery
			name string
			body string
			want map[string]any
		}{
			{fromGitHub, "push", githubPush, learns("refs/heads/main", "main", sha1, "octo/site", "mona")},
			{githubForm, "push", githubPush, learns("refs/heads/main", "main", sha1, "octo/site", "mona")},
			{fromGitHub, "push", githubTag, learns("refs/tags/v1.2.3", "", sha1, "octo/site", "mona")},
			{fromGitHub, "pull_request", githubPull, learns("refs/heads/topic/x", "topic/x", sha1, "octo/site", "mona")},
			{fromGitHub, "release", githubRelease, learns("", "", "", "octo/site", "mona")},
			{fromGitea, "push", giteaPush, learns("refs/heads/develop", "develop", sha1, "gitea/webhooks", "ada")},
			{fromGitea, "pull_request", giteaPull, learns("refs/heads/topic", "topic", sha1, "gitea/webhooks", "ada")},
			{fromForgejo, "push", giteaPush, learns("refs/heads/develop", "develop", sha1, "gitea/webhooks", "ada")},
			{fromGitLab, "Push Hook", gitlabPush, learns("refs/heads/master", "master", sha1, "mike/diaspora", "jsmith")},
			{fromGitLab, "System Hook", gitlabPush, learns("refs/heads/master", "master", sha1, "mike/diaspora", "jsmith")},
			{fromGitLab, "Tag Push Hook", gitlabTag, learns("refs/tags/v1.0.0", "", sha1, "jsmith/example", "jsmith")},
			{fromGitLab, "Merge Request Hook", gitlabMerge,
				learns("refs/heads/ms-viewport", "ms-viewport", sha1, "gitlabhq/gitlab-test", "root")},
		} {
			body := c.body + strings.Repeat("\n", i) // each is sent once
			same(t, fmt.Sprint(i, " ", c.name), c.want, b.fires(c.from(x, c.name, body, fmt.Sprint("delivery-", i))))
		}
		b.ignores(fromGitHub(x, "ping", githubPing, "p"), "ping")
		b.ignores(fromGitHub(x, "issues", `{"action":"opened"}`, "i"), "event")
		b.ignores(fromGitLab(x, "System Hook", gitlabSystem, "s"), "event")
		b.ignores(fromGitHub(x, "push", githubDeleted, "d"), "deletion")
		b.ignores(fromGitLab(x, "Push Hook", gitlabDeleted, "d"), "deletion")
	})
}

func TestHookFires(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook()
		before := time.Now().Add(-time.Hour)
		b.fires(github(x, "1"))
		got := b.fixture.runs()[0]
		k := got.Launch.Idempotency
		if got.Template != tpl1 || got.Account != "usr_1" || got.Launch.Source != runs.FromTrigger || got.Launch.By != x.ID ||
			k == nil || k.Scope != "hook" ||
			k.Digest != digest(k.Key) || len(got.Launch.Answers)+len(got.Launch.ExtraVars) != 0 {
			t.Errorf("%+v", got)
		}
		same(t, "who acts", actor.Actor{Type: actor.Hook, ID: x.ID, Name: "deploy", IP: "198.51.100.7"}, got.Actor)
		read, err := b.Triggers.Get(t.Context(), x.ID)
		if err != nil || read.LastRunID != "run_1" || read.LastError != "" || read.LastFiredAt.Before(before) ||
			read.Revision != 1 {
			t.Errorf("%+v, %v", read, err)
		}
		own, err := b.Triggers.Create(t.Context(), pushed(func(x *scheduling.Trigger) { x.Name = "own" }))
		if err != nil {
			t.Fatal(err)
		}
		b.fires(github(own, "1"))
		same(t, "who acts for the application", actor.Actor{Type: actor.System, ID: own.ID, Name: "own", IP: "198.51.100.7"},
			b.fixture.runs()[1].Actor)
	})
}

func TestHookFilters(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook(func(x *scheduling.Trigger) { x.Branch = "main" })
		b.ignores(fromGitHub(x, "pull_request", githubPull, "0"), "event")
		b.ignores(fromGitHub(x, "push", githubTag, "1"), "branch")
		b.ignores(fromGitea(x, "push", giteaPush, "2"), "branch")
		b.ignores(fromGitHub(x, "push", with(githubPush, "refs/heads/main", "refs/heads/main2"), "3"), "branch")
		b.ignores(fromGitHub(x, "push", with(githubPush, "refs/heads/main", "refs/heads/Main"), "4"), "branch")
		b.ignores(fromGitHub(x, "push", with(githubPush, "refs/heads/main", "refs/tags/main"), "5"), "branch")
		b.fires(github(x, "6"))
		// An ignored delivery is not stored: a forge may send it again after the trigger was changed to fire at it.
		if _, err := b.Triggers.Update(b.as("usr_1"), x.ID, 0, pushed(func(x *scheduling.Trigger) {
			x.Branch, x.Events = "develop", []string{"push", "pull_request", "release"}
		})); err != nil {
			t.Fatal(err)
		}
		b.fires(fromGitea(x, "push", giteaPush, "2"))
		b.fires(fromGitea(x, "pull_request", giteaPull, "7"))
		b.ignores(fromGitHub(x, "pull_request", githubPull, "8"), "branch")
		b.ignores(fromGitHub(x, "release", githubRelease, "9"), "branch")
	})
}

// TestHookIsProven sends deliveries without a valid signature: each reads only the trigger.
// Keeps T05.
func TestHookIsProven(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, c *counting) {
		x, other := b.hook(), b.hook(func(x *scheduling.Trigger) { x.Name = "other" })
		set := func(d scheduling.Delivery, header, value string) scheduling.Delivery {
			d.Header.Set(header, value)
			return d
		}
		drop := func(d scheduling.Delivery, headers ...string) scheduling.Delivery {
			for _, h := range headers {
				d.Header.Del(h)
			}
			return d
		}
		flipped, wrongBody := github(x, "f"), github(x, "b")
		proof := []byte(flipped.Header.Get("X-Hub-Signature-256"))
		proof[len(proof)-1] ^= 1
		wrongBody.Body[len(wrongBody.Body)-2] ^= 1
		foreign := github(other, "o")
		foreign.Token = x.Token.Reveal()
		twice := github(x, "t")
		twice.Header.Add("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
		cases := map[string]scheduling.Delivery{
			"a flipped bit of the proof": set(flipped, "X-Hub-Signature-256", string(proof)),
			"a flipped bit of the body":  wrongBody,
			"another trigger's secret":   foreign,
			"no header":                  drop(github(x, "n"), "X-Hub-Signature-256"),
			"an empty proof":             set(github(x, "e"), "X-Hub-Signature-256", "sha256="),
			"no prefix":                  set(github(x, "p"), "X-Hub-Signature-256", mac(x.SigningSecret.Reveal(), githubPush)),
			"half a proof": set(github(x, "h"), "X-Hub-Signature-256",
				"sha256="+mac(x.SigningSecret.Reveal(), githubPush)[:32]),
			"no hex":                    set(github(x, "x"), "X-Hub-Signature-256", "sha256="+strings.Repeat("z", 64)),
			"a second proof that fails": twice,
			"another header that fails": set(github(x, "g"), "X-Gitea-Signature", strings.Repeat("0", 64)),
			"one of two of Gitea": set(fromGitea(x, "push", giteaPush, "g2"), "X-Gitea-Signature",
				strings.Repeat("0", 64)),
			"Forgejo's": set(fromForgejo(x, "push", giteaPush, "g3"), "X-Forgejo-Signature",
				strings.Repeat("0", 64)),
			"SHA-1 alone":     drop(set(github(x, "1"), "X-Hub-Signature", "sha1=00"), "X-Hub-Signature-256"),
			"GitLab's, wrong": set(fromGitLab(x, "Push Hook", gitlabPush, "l"), "X-Gitlab-Token", "wrong"),
			"GitLab's, longer": set(fromGitLab(x, "Push Hook", gitlabPush, "l2"), "X-Gitlab-Token",
				x.SigningSecret.Reveal()+"0"),
			"GitLab's, missing":      drop(fromGitLab(x, "Push Hook", gitlabPush, "l3"), "X-Gitlab-Token"),
			"a body that is no JSON": deliver(x, "{", "X-GitHub-Event", "push"),
			"no forge":               deliver(x, "{}"),
			"a ping":                 drop(fromGitHub(x, "ping", githubPing, "q"), "X-Hub-Signature-256"),
		}
		for name, d := range cases {
			before := c.tokens.Load()
			_, err := b.Hooks.Deliver(b.outside(), d)
			refused(t, name, err, scheduling.BadSignature, "")
			if n := c.tokens.Load() - before; n != 1 {
				t.Errorf("%s: %d readings", name, n)
			}
		}
		if n := c.rest.Load(); n != 0 || len(b.fixture.runs()) != 0 {
			t.Errorf("%d other questions, %d runs", n, len(b.fixture.runs()))
		}
		unknown := github(x, "u")
		unknown.Token = "nothing"
		_, err := b.Hooks.Deliver(b.outside(), unknown)
		refused(t, "an unknown token", err, scheduling.TriggerNotFound, "")
		if _, err := b.Triggers.Rotate(b.as("usr_1"), x.ID); err != nil {
			t.Fatal(err)
		}
		_, err = b.Hooks.Deliver(b.outside(), github(x, "r"))
		refused(t, "a secret that was replaced", err, scheduling.BadSignature, "")
	})
}

func TestHookWithoutSignature(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, _ *counting) {
		x := b.hook(func(x *scheduling.Trigger) { x.RequireSignature = false })
		b.fires(deliver(x, githubPush, "X-GitHub-Event", "push", "X-GitHub-Delivery", "1"))
		b.fires(github(x, "2"))
		empty := deliver(x, giteaPush, "X-Gitea-Event", "push", "X-Gitea-Delivery", "3", "X-Hub-Signature-256", "sha256=")
		empty.Header["X-Gitea-Signature"] = []string{""}
		b.fires(empty)
		wrong := github(x, "4")
		wrong.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
		_, err := b.Hooks.Deliver(b.outside(), wrong)
		refused(t, "a signature that is there and wrong", err, scheduling.BadSignature, "")
	})
}

// TestHookBodies sends signed deliveries with invalid bodies: nothing is stored and nothing runs.
// Keeps T06.
func TestHookBodies(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, c *counting) {
		x := b.hook(func(x *scheduling.Trigger) { x.Events = []string{"push", "pull_request"} })
		quote := func(s string) string { raw, _ := json.Marshal(s); return string(raw) }
		check := func(what string, d scheduling.Delivery, field string) {
			t.Helper()
			before := c.tokens.Load()
			_, err := b.Hooks.Deliver(b.outside(), d)
			refused(t, what, err, invalid, field)
			if n := c.tokens.Load() - before; n != 1 {
				t.Errorf("%s: %d readings", what, n)
			}
		}
		for _, ref := range []string{
			"--upload-pack=x", "refs/heads/--upload-pack=x", "$(id)", "refs/heads/$(id)", "../..", "refs/../..",
			"refs/heads/../../x", "refs/heads/a\nb", "refs/heads/a\n", "\nrefs/heads/a",
			"refs/heads/a b", "refs/heads//a", "refs/heads/a.lock", "refs/heads/a..b", "refs/heads/`id`", "refs/heads/{{ x }}",
			"refs/heads/a;b", "refs/heads/a\u0000", "refs/",
			"refs/-x", "main", "", "refs/heads/" + strings.Repeat("a", 300), "refs/heads/ä",
		} {
			check("the ref "+ref, fromGitHub(x, "push", with(githubPush, `"refs/heads/main"`, quote(ref)), "d"), "ref")
		}
		for _, ref := range []string{"$(id)", "../..", "a\nb", "", "a..b"} {
			check("the head "+ref, fromGitHub(x, "pull_request", with(githubPull, `"topic/x"`, quote(ref)), "d"), "ref")
		}
		for _, sha := range []string{`"HEAD"`, `"` + sha1 + `0"`, `"` + strings.ToUpper(sha1) + `"`, `""`, `5`, `["a"]`,
			`"--x"`} {
			check("the commit "+sha, fromGitHub(x, "push", with(githubPush, `"after":"`+sha1+`"`, `"after":`+sha), "d"),
				"commit")
		}
		for _, name := range []string{`"a\nb"`, `"a\u0000b"`, `7`, `"` + strings.Repeat("a", 513) + `"`, `"a\u2028b"`} {
			check(fmt.Sprintf("the repository %.8s", name),
				fromGitHub(x, "push", with(githubPush, `"full_name":"octo/site"`, `"full_name":`+name), "d"), "repository")
			check(fmt.Sprintf("the pusher %.8s", name),
				fromGitHub(x, "push", with(githubPush, `"pusher":{"name":"mona"`, `"pusher":{"name":`+name), "d"), "pusher")
		}
		for what, body := range map[string]string{
			"nothing": "", "no JSON": "{", "a list": "[]", "a text": `"x"`, "null": "null", "two": githubPush + "{}",
			"a tail": githubPush + "x",
		} {
			check(what, fromGitHub(x, "push", body, "d"), "body")
		}
		check("no ref", fromGitHub(x, "push", `{"after":"`+sha1+`"}`, "d"), "ref")
		check("a ref that is none", fromGitHub(x, "push", `{"ref":{"a":1}}`, "d"), "ref")
		check("no payload", githubFormOf(x, "other=1"), "payload")
		check("two payloads", githubFormOf(x, "payload={}&payload={}"), "payload")
		check("a broken form", githubFormOf(x, "payload=%zz"), "payload")
		text := github(x, "d")
		text.Header.Set("Content-Type", "text/plain")
		check("another type", text, "Content-Type")
		check("no event", deliver(x, githubPush, "X-Hub-Signature-256", "sha256="+mac(x.SigningSecret.Reveal(), githubPush)),
			"X-GitHub-Event")
		both := github(x, "d")
		both.Header.Set("X-Gitlab-Event", "Push Hook")
		check("two forges", both, "X-Gitlab-Event")
		long := fromGitHub(x, strings.Repeat("a", 65), githubPush, "d")
		check("a long event", long, "X-GitHub-Event")
		if n := c.rest.Load(); n != 0 || len(b.fixture.runs()) != 0 {
			t.Errorf("%d other questions, %d runs", n, len(b.fixture.runs()))
		}
	})
}

func githubFormOf(x scheduling.NewTrigger, body string) scheduling.Delivery {
	d := fromGitHub(x, "push", body, "d")
	d.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return d
}

// Keeps T05.
func TestHookSizes(t *testing.T) {
	eachHook(t, func(t *testing.T, b *bundle, c *counting) {
		x := b.hook()
		fill := func(n int) string {
			return strings.TrimSuffix(githubPush, "}") + `,"x":"` + strings.Repeat("a", n) + `"}`
		}
		whole := fill(scheduling.MaxHook - len(fill(0)))
		if len(whole) != scheduling.MaxHook {
			t.Fatal(len(whole))
		}
		b.fires(fromGitHub(x, "push", whole, "1"))
		before := c.tokens.Load()
		if _, err := b.Hooks.Deliver(b.outside(), fromGitHub(x, "push", whole+" ", "2")); !fault.Is(err, fault.TooLarge) {
			t.Error(err)
		}
		if c.tokens.Load() != before {
			t.Error("a delivery that is too large is looked up")
		}
	})
}
