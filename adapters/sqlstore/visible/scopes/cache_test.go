package scopes

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScopesAreKeptWithinBounds(t *testing.T) {
	t.Parallel()
	k := newCache()
	set := func(i int64) []string { return []string{fmt.Sprint("inv_", i), "queue:default"} }
	for i := range int64(3 * generation) {
		k.put(i+1, digestOf(set(i+1)), set(i+1))
		// Scopes in use stay, by id and by digest.
		if id, ok := k.id(digestOf(set(1))); !ok || id != 1 || k.objects(1) == nil {
			t.Fatalf("after %d more the first is %d, %t", i, id, ok)
		}
	}
	if n := len(k.young.objects) + len(k.old.objects); n > 2*generation+1 {
		t.Errorf("%d scopes are kept", n)
	}
	if n := len(k.young.ids) + len(k.old.ids); n > 2*generation+1 {
		t.Errorf("%d digests are kept", n)
	}
	if _, ok := k.id(digestOf(set(2))); ok || k.objects(2) != nil {
		t.Error("what nobody asked for is still kept")
	}
	if diff := cmp.Diff(set(3*generation), k.objects(3*generation)); diff != "" {
		t.Error(diff)
	}
}

func TestDigestsTellSetsApart(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	for _, set := range [][]string{
		{"queue:a"}, {"queue:b"}, {"queue:a", "queue:b"}, {"queue:a,queue:b"}, {"queue:a queue:b"}, {"inv_1", "queue:a"},
		{"inv_1", "inv_2", "queue:a"},
	} {
		d := digestOf(set)
		if was := seen[d]; was != nil {
			t.Errorf("%v and %v share %s", was, set, d)
		}
		seen[d] = set
	}
	for _, c := range [][2][]string{
		{{"b", "a"}, {"a", "b"}}, {{"a", "a"}, {"a"}}, {{"a", "b"}, {"a", "b"}}, {{"c", "a", "c", "b"}, {"a", "b", "c"}},
	} {
		if diff := cmp.Diff(c[1], normal(c[0])); diff != "" {
			t.Error(diff)
		}
	}
}
