package targets_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/notify/internal/targets"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// memoryStore stores sealed targets in memory and counts its calls. Its seal is readable, so that tests see which
// record it is for.
type memoryStore struct {
	sealed  map[string][]byte // by ref
	digests map[string]string // refs by digest
	opened  int
	lost    bool
	made    int
}

func (d *memoryStore) SaveTarget(_ context.Context, ref, digest string, sealed []byte) (string, error) {
	if was, ok := d.digests[digest]; ok {
		return was, nil
	}
	d.digests[digest], d.sealed[ref] = ref, sealed
	return ref, nil
}

func (d *memoryStore) SealedTarget(_ context.Context, ref string) ([]byte, error) {
	if text, ok := d.sealed[ref]; ok {
		return text, nil
	}
	return nil, notify.TargetNotFound.New("no target %q", ref)
}

func (*memoryStore) Seal(_ context.Context, record string, plain []byte) ([]byte, error) {
	return append([]byte(record+"\n"), plain...), nil
}

func (d *memoryStore) Open(_ context.Context, record string, sealed []byte) ([]byte, error) {
	d.opened++
	text, ok := strings.CutPrefix(string(sealed), record+"\n")
	switch {
	case d.lost:
		return nil, secrets.KeyLost.New("the key is lost")
	case !ok:
		return nil, errors.New("sealed for another record")
	}
	return []byte(text), nil
}

func (*memoryStore) Digest(_ context.Context, purpose string, text []byte) ([]byte, error) {
	return append([]byte(purpose), text...), nil
}

func (d *memoryStore) New(p ids.Prefix) string {
	d.made++
	return fmt.Sprintf("%s%d", p, d.made)
}

func setup() (*targets.Targets, *memoryStore) {
	d := &memoryStore{sealed: map[string][]byte{}, digests: map[string]string{}}
	return targets.New(d, d, d, d), d
}

type list = []runs.Notification

const (
	hook = "https://hooks.example.com/"
	mask = "https://hooks.example.com/***"
)

// input are targets of every form, as a request contains them.
func input() list {
	return list{
		{Kind: "slack", URL: hook + "a"}, {Kind: "slack", URL: hook + "b"}, {Kind: "teams", URL: hook + "c", OnFailure: true},
		{Kind: "pagerduty", Key: "routing"}, {Kind: "grafana", URL: "http://u:p@g.example.com:3000/x", Key: "k"},
		{Kind: "email", To: "a@example.com"},
	}
}

// masked are the same targets in their public form.
func masked() list {
	return list{
		{Kind: "slack", URL: mask}, {Kind: "slack", URL: mask}, {Kind: "teams", URL: mask, OnFailure: true},
		{Kind: "pagerduty", Key: "***"},
		{Kind: "grafana", URL: "http://g.example.com:3000/***", Key: "***"}, {Kind: "email", To: "a@example.com"},
	}
}

func kept(t *testing.T, k *targets.Targets, input list) list {
	t.Helper()
	sealed, err := k.Seal(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	out, err := k.Save(t.Context(), sealed)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// plain opens targets again.
func plain(t *testing.T, k *targets.Targets, stored list) (out list) {
	t.Helper()
	for _, n := range stored {
		to, err := k.Open(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, runs.Notification{Kind: to.Kind, URL: to.URL.Reveal(), Key: to.Key.Reveal(), To: to.To,
			OnFailure: n.OnFailure})
	}
	return out
}

func TestSealAndStore(t *testing.T) {
	t.Parallel()
	k, d := setup()
	stored := kept(t, k, input())
	var displayed list
	for _, n := range stored {
		if (n.Ref == "") != (n.Kind == "email") {
			t.Errorf("%s has the ref %q", n.Kind, n.Ref)
		}
		n.Ref = ""
		displayed = append(displayed, n)
	}
	if diff := cmp.Diff(masked(), displayed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(input(), plain(t, k, stored)); diff != "" {
		t.Error(diff)
	}
	// Equal targets are stored once, whatever surrounds the secret; a stored target stays unchanged.
	other := input()[2]
	other.OnFailure = false
	again := kept(t, k, list{other, stored[0]})
	if again[0].Ref != stored[2].Ref || again[1] != stored[0] || len(d.sealed) != 5 {
		t.Errorf("%+v, %d sealed", again, len(d.sealed))
	}
	// Targets of different kinds differ, and the parts are separated.
	for _, n := range []runs.Notification{{Kind: "mattermost", URL: hook + "a"},
		{Kind: "grafana", URL: "http://u:p@g.example.com:3000/xk"}} {
		if got := kept(t, k, list{n}); slices.ContainsFunc(stored, func(s runs.Notification) bool {
			return s.Ref == got[0].Ref
		}) {
			t.Errorf("%+v is kept as another one", n)
		}
	}
	for ref, text := range d.sealed {
		if !strings.HasPrefix(string(text), "target/"+ref+"\n") {
			t.Errorf("%s is sealed for another record", ref)
		}
	}
	for field, n := range map[string]runs.Notification{
		"notifications[1].url": {Kind: "slack", URL: mask}, "notifications[1].key": {Kind: "pagerduty", Key: secret.Mask},
	} {
		if _, err := k.Seal(t.Context(), list{stored[0], n}); location(err) != field {
			t.Errorf("%v", err)
		}
	}
}

// TestStoreInAUnit: nothing is stored before the unit, nothing is sealed or opened in it, and it may run again.
func TestStoreInAUnit(t *testing.T) {
	t.Parallel()
	k, d := setup()
	sealed, err := k.Seal(t.Context(), input())
	if err != nil || len(d.sealed) != 0 || len(sealed.Fresh) != 5 {
		t.Fatalf("%d stored, %d sealed, %v", len(d.sealed), len(sealed.Fresh), err)
	}
	if !slices.IsSortedFunc(sealed.Fresh, func(a, b notify.SealedTarget) int {
		return strings.Compare(a.Digest, b.Digest)
	}) {
		t.Error("two units could wait for one another")
	}
	d.lost = true
	first, err := k.Save(t.Context(), sealed)
	again, err2 := k.Save(t.Context(), sealed)
	if err != nil || err2 != nil || d.opened != 0 || len(d.sealed) != 5 || cmp.Diff(first, again) != "" {
		t.Errorf("%v, %v, %d opened, %d stored: %s", err, err2, d.opened, len(d.sealed), cmp.Diff(first, again))
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	k, d := setup()
	// A record from before targets were sealed contains the values itself.
	old := runs.Notification{Kind: "slack", URL: hook + "old"}
	if to, err := k.Open(t.Context(), old); err != nil || to.URL.Reveal() != old.URL {
		t.Error(to, err)
	}
	stored := kept(t, k, input())
	d.sealed[stored[0].Ref], d.sealed[stored[1].Ref] = d.sealed[stored[1].Ref], d.sealed[stored[0].Ref]
	if _, err := k.Open(t.Context(), stored[0]); err == nil {
		t.Error("what was sealed for another target opens")
	}
	d.sealed[stored[2].Ref] = []byte("target/" + stored[2].Ref + "\nnonsense with s3cret")
	if _, err := k.Open(t.Context(), stored[2]); !fault.Is(err, fault.Internal) ||
		strings.Contains(fmt.Sprintf("%+v", err), "s3cret") {
		t.Error(err)
	}
	d.lost = true
	if _, err := k.Open(t.Context(), stored[3]); !secrets.KeyLost.Is(err) {
		t.Error(err)
	}
	gone := runs.Notification{Kind: "slack", URL: mask, Ref: "ntg_none"}
	if _, err := k.Open(t.Context(), gone); !notify.TargetNotFound.Is(err) {
		t.Error(err)
	}
}

func location(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) == 0 {
		return ""
	}
	return f.Fields[0].Location
}

// TestEchoes: a request with masks keeps the stored values of the same kind, and a stored key is only sent to its
// address.
func TestEchoes(t *testing.T) {
	t.Parallel()
	x, m := input(), masked()
	for _, c := range []struct {
		name        string
		input, want list
		field       string
	}{
		{"echo", m, x, ""},
		{"less", m[2:4], x[2:4], ""},
		{"more", append(list{{Kind: "ntfy", URL: hook}}, m...), append(list{{Kind: "ntfy", URL: hook}}, x...), ""},
		{"which of the two", m[1:3], nil, "notifications[0].url"},
		{"one for two", list{m[2], m[2]}, list{x[2], x[2]}, ""},
		{"in another order", list{m[5], m[3], m[2], m[0], m[1]}, list{x[5], x[3], x[2], x[0], x[1]}, ""},
		{"one replaced", append(list{{Kind: "slack", URL: hook + "new"}}, m[1:]...),
			append(list{{Kind: "slack", URL: hook + "new"}}, x[1:]...), ""},
		{"a new key", list{{Kind: "grafana", URL: "http://g.example.com:3000/***", Key: "n"}},
			list{{Kind: "grafana", URL: "http://u:p@g.example.com:3000/x", Key: "n"}}, ""},
		{"the address given anew", list{{Kind: "grafana", URL: "http://u:p@g.example.com:3000/x", Key: "***"}}, x[4:5], ""},
		{"of another kind", list{{Kind: "discord", URL: mask}}, nil, "notifications[0].url"},
		{"of another server", list{m[5], {Kind: "slack", URL: "https://evil.example.net/***"}}, nil, "notifications[1].url"},
		{"a key to elsewhere", list{{Kind: "grafana", URL: "http://evil.example.net/", Key: "***"}}, nil,
			"notifications[0].key"},
		{"a key that never was", list{{Kind: "slack", URL: mask, Key: "***"}}, nil, "notifications[0].key"},
		{"nothing new", list{{Kind: "teams", URL: mask}}, list{{Kind: "teams", URL: hook + "c"}}, ""},
	} {
		for _, sealed := range []bool{true, false} {
			k, d := setup()
			stored := x
			if sealed {
				stored = kept(t, k, x)
			}
			got, err := k.Echoed(t.Context(), c.input, stored)
			if location(err) != c.field || (err == nil) != (c.field == "") {
				t.Errorf("%s (sealed %t): %v", c.name, sealed, err)
				continue
			}
			if err != nil {
				continue
			}
			if c.name == "echo" && sealed && d.opened != 0 {
				t.Errorf("%s: %d targets were opened for it", c.name, d.opened)
			}
			if diff := cmp.Diff(c.want, plain(t, k, kept(t, k, got))); diff != "" {
				t.Errorf("%s (sealed %t): %s", c.name, sealed, diff)
			}
		}
	}
	k, _ := setup()
	forged := list{{Kind: "slack", URL: hook + "a", Ref: "ntg_forged"}}
	if got, err := k.Echoed(t.Context(), forged, nil); err != nil || got[0].Ref != "" {
		t.Errorf("somebody gave a ref: %+v, %v", got, err)
	}
}

// TestSame compares the request with the stored target, by value and by mask, and checks that nothing is disclosed.
func TestSame(t *testing.T) {
	t.Parallel()
	k, _ := setup()
	ctx := t.Context()
	sealed, err := k.Seal(ctx, list{{Kind: "webhook", URL: hook + "a", Key: "k1"},
		{Kind: "slack", URL: hook + "b", OnFailure: true}})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := k.Save(ctx, sealed)
	if err != nil {
		t.Fatal(err)
	}
	slack := runs.Notification{Kind: "slack", URL: hook + "b", OnFailure: true}
	for name, c := range map[string]struct {
		input list
		same  bool
	}{
		"values":         {list{{Kind: "webhook", URL: hook + "a", Key: "k1"}, slack}, true},
		"masks":          {list{{Kind: "webhook", URL: mask, Key: secret.Mask}, slack}, true},
		"another key":    {list{{Kind: "webhook", URL: hook + "a", Key: "k2"}, slack}, false},
		"no key":         {list{{Kind: "webhook", URL: hook + "a"}, slack}, false},
		"another path":   {list{{Kind: "webhook", URL: hook + "c", Key: "k1"}, slack}, false},
		"a strange mask": {list{{Kind: "webhook", URL: "https://other.example.com/***", Key: "k1"}, slack}, false},
		"one less":       {list{slack}, false},
		"another order":  {list{slack, {Kind: "webhook", URL: hook + "a", Key: "k1"}}, false},
		"on every end":   {list{{Kind: "webhook", URL: hook + "a", Key: "k1"}, {Kind: "slack", URL: hook + "b"}}, false},
	} {
		if same, err := k.Same(ctx, c.input, stored); same != c.same || err != nil {
			t.Errorf("%s: %t %v", name, same, err)
		}
	}
}
