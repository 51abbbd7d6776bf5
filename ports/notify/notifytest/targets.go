package notifytest

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secrets"
)

func targetCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"what is kept is read":    saveRead,
		"equal ones are one":      saveOnce,
		"outside of a unit":       saveAlone,
		"they outlive runs":       saveWithoutRuns,
		"all that is sealed":      sealedList,
		"sealed under a new key":  resealOne,
		"sealed anew and changed": resealChanged,
	}
}

func (e *env) save(t *testing.T, ref, digest string, sealed []byte, want string) {
	t.Helper()
	err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
		got, err := e.Targets.SaveTarget(ctx, ref, digest, sealed)
		if err == nil && got != want {
			t.Errorf("%s rules, want %s", got, want)
		}
		return err
	})
	if err != nil {
		t.Fatalf("keep: %v", err)
	}
}

func (e *env) sealed(t *testing.T, ref string) []byte {
	t.Helper()
	b, err := e.Targets.SealedTarget(t.Context(), ref)
	if err != nil {
		t.Fatalf("read %s: %v", ref, err)
	}
	return b
}

var odd = []byte{0, 255, '\'', '?', '\\', '"', 10}

func saveRead(t *testing.T, e *env) {
	large := bytes.Repeat(odd, 2000)
	e.save(t, "ntg_1", "d1", odd, "ntg_1")
	e.save(t, "ntg_2", "d2", large, "ntg_2")
	same(t, "the first", odd, e.sealed(t, "ntg_1"))
	same(t, "the second", large, e.sealed(t, "ntg_2"))
	for _, ref := range []string{"ntg_3", "", "d1"} {
		_, err := e.Targets.SealedTarget(t.Context(), ref)
		refused(t, ref, err, notify.TargetNotFound)
	}
}

func saveOnce(t *testing.T, e *env) {
	e.save(t, "ntg_1", "d1", []byte("one"), "ntg_1")
	e.save(t, "ntg_2", "d1", []byte("two"), "ntg_1")
	e.save(t, "ntg_2", "d2", []byte("two"), "ntg_2")
	same(t, "the first stays", []byte("one"), e.sealed(t, "ntg_1"))
	same(t, "the other one", []byte("two"), e.sealed(t, "ntg_2"))
}

func saveAlone(t *testing.T, e *env) {
	got, err := e.Targets.SaveTarget(t.Context(), "ntg_1", "d1", odd)
	if err != nil || got != "ntg_1" {
		t.Fatal(got, err)
	}
	same(t, "kept", odd, e.sealed(t, "ntg_1"))
}

func saveWithoutRuns(t *testing.T, e *env) {
	e.add(t, func(d *notify.Delivery) { d.Target.Ref = "ntg_1" })
	e.save(t, "ntg_1", "d1", odd, "ntg_1")
	if err := e.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "kept", odd, e.sealed(t, "ntg_1"))
}

func (e *env) listSealed(t *testing.T, after string, limit int) []secrets.Sealed {
	t.Helper()
	list, err := e.Sealed.ListSealed(t.Context(), after, limit)
	if err != nil {
		t.Fatalf("list what is sealed: %v", err)
	}
	return list
}

func sealedList(t *testing.T, e *env) {
	if e.Sealed.Name() == "" {
		t.Error("it holds something without a name")
	}
	same(t, "nothing", 0, len(e.listSealed(t, "", 9)))
	var want []secrets.Sealed
	for i := range 5 {
		ref := fmt.Sprintf("ntg_%d", i)
		e.save(t, ref, ref, []byte{byte(i)}, ref)
		want = append(want, secrets.Sealed{Key: ref, Record: "target/" + ref, Text: []byte{byte(i)}})
	}
	same(t, "all", want, e.listSealed(t, "", 9))
	same(t, "some", want[2:4], e.listSealed(t, "ntg_1", 2))
	same(t, "the rest", 0, len(e.listSealed(t, "ntg_4", 9)))
}

func (e *env) reseal(t *testing.T, was secrets.Sealed, text []byte, want bool) {
	t.Helper()
	err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
		ok, err := e.Sealed.Reseal(ctx, was, text)
		if err == nil && ok != want {
			t.Errorf("sealed anew: %t, want %t", ok, want)
		}
		return err
	})
	if err != nil {
		t.Fatalf("seal anew: %v", err)
	}
}

func resealOne(t *testing.T, e *env) {
	e.save(t, "ntg_1", "d1", odd, "ntg_1")
	e.save(t, "ntg_2", "d2", odd, "ntg_2")
	e.reseal(t, e.listSealed(t, "", 1)[0], []byte("new"), true)
	same(t, "the new form", []byte("new"), e.sealed(t, "ntg_1"))
	same(t, "the other one", odd, e.sealed(t, "ntg_2"))
	e.save(t, "ntg_9", "d1", odd, "ntg_1")
}

func resealChanged(t *testing.T, e *env) {
	e.save(t, "ntg_1", "d1", odd, "ntg_1")
	was := e.listSealed(t, "", 1)[0]
	e.reseal(t, was, []byte("first"), true)
	e.reseal(t, was, []byte("second"), false)
	same(t, "the first one's", []byte("first"), e.sealed(t, "ntg_1"))
	was.Key = "ntg_none"
	e.reseal(t, was, []byte("third"), false)
}
