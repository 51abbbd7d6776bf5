package audittest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

func identityCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"an install": identityInstall,
		"keys":       identityKeys,
		"epochs":     identityEpochs,
		"outside":    identityOutside,
	}
}

func (e *env) install(t *testing.T, want string) {
	t.Helper()
	if got, err := e.Identity.Install(t.Context()); got != want || err != nil {
		t.Errorf("the install is %q, want %q: %v", got, want, err)
	}
}

func identityInstall(t *testing.T, e *env) {
	set := func(id string) error {
		return e.do(t, func(ctx context.Context) error { return e.Identity.SetInstall(ctx, id) })
	}
	e.install(t, "")
	refused(t, "an empty id", set(""), fault.Internal)
	lost := errors.New("lost")
	_ = e.do(t, func(ctx context.Context) error { return errors.Join(e.Identity.SetInstall(ctx, "in_0"), lost) })
	e.install(t, "")
	if err := set("in_1"); err != nil {
		t.Fatal(err)
	}
	e.install(t, "in_1")
	refused(t, "another id", set("in_2"), fault.Conflict)
	refused(t, "the same id", set("in_1"), fault.Conflict)
	e.install(t, "in_1")
	if got, err := e.Beside(t).Identity.Install(t.Context()); got != "in_1" || err != nil {
		t.Errorf("another process reads %q: %v", got, err)
	}
}

func key(id string) audit.PublicKey {
	return audit.PublicKey{
		KID: id, Use: "checkpoint", Public: []byte{0, 1, 255, '\''}, Status: "active", NotBefore: epoch, FirstSize: 1,
		LastSize: 2, TrustedSize: 3,
		Handover: "a\n— b 'x'\n",
	}
}

func (e *env) keys(t *testing.T) []audit.PublicKey {
	t.Helper()
	got, err := e.Identity.Keys(t.Context())
	if err != nil {
		t.Fatalf("keys: %v", err)
	}
	return got
}

func (e *env) putKeys(t *testing.T, list ...audit.PublicKey) {
	t.Helper()
	e.must(t, func(ctx context.Context) error {
		for _, k := range list {
			if err := e.Identity.PutKey(ctx, k); err != nil {
				return err
			}
		}
		return nil
	})
}

func identityKeys(t *testing.T, e *env) {
	if got := e.keys(t); len(got) != 0 {
		t.Errorf("keys %v", got)
	}
	want := []audit.PublicKey{key("sha256:c"), key("sha256:a"), key("sha256:b")}
	e.putKeys(t, want...)
	same(t, "keys", want, e.keys(t))
	want[0].Status, want[0].LastSize, want[0].Use, want[0].Public, want[0].Handover = "retired", 1<<60, "statement",
		[]byte{9}, ""
	want[0].NotBefore, want[0].FirstSize, want[0].TrustedSize = time.Time{}, 0, 0
	want = append(want, key("sha256:0"))
	e.putKeys(t, want[3], want[0])
	same(t, "keys that were changed", want, e.keys(t))
	lost := errors.New("lost")
	_ = e.do(t, func(ctx context.Context) error { return errors.Join(e.Identity.PutKey(ctx, key("sha256:c")), lost) })
	same(t, "keys after a unit that failed", want, e.keys(t))
}

func identityEpochs(t *testing.T, e *env) {
	put := func(list ...audit.Epoch) {
		t.Helper()
		e.must(t, func(ctx context.Context) error {
			for _, n := range list {
				if err := e.Identity.PutEpoch(ctx, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	check := func(want []audit.Epoch) {
		t.Helper()
		got, err := e.Identity.Epochs(t.Context())
		if err != nil {
			t.Fatalf("epochs: %v", err)
		}
		same(t, "epochs", want, got)
	}
	check(nil)
	one := audit.Epoch{N: 1, Origin: "x/audit/in_1/e1", FirstSeq: 1}
	two := audit.Epoch{N: 2, Origin: "x/audit/in_1/e2", FirstSeq: 8, Reason: "it's restored"}
	put(two, one)
	check([]audit.Epoch{one, two})
	one.Closed, one.LastSize, one.LastRoot = true, 7, [32]byte{0, 255, 1}
	put(one)
	check([]audit.Epoch{one, two})
}

func identityOutside(t *testing.T, e *env) {
	refused(t, "install", e.Identity.SetInstall(t.Context(), "in_1"), fault.Internal)
	refused(t, "key", e.Identity.PutKey(t.Context(), key("sha256:a")), fault.Internal)
	refused(t, "epoch", e.Identity.PutEpoch(t.Context(), audit.Epoch{N: 1}), fault.Internal)
	for name, fn := range map[string]func(ctx context.Context) error{
		"a key without an id": func(ctx context.Context) error { return e.Identity.PutKey(ctx, key("")) },
		"a NUL in an origin": func(ctx context.Context) error {
			return e.Identity.PutEpoch(ctx, audit.Epoch{N: 1, Origin: "\x00"})
		},
		"a NUL in an install": func(ctx context.Context) error { return e.Identity.SetInstall(ctx, "\x00") },
	} {
		refused(t, name, e.do(t, fn), fault.Internal)
	}
}
