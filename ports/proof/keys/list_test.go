package keys

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestListOfKeysHasOneForm(t *testing.T) {
	t.Parallel()
	var list []Key
	for seed, use := range map[byte]Use{1: Checkpoint, 2: Statement} {
		p, err := FromSeed(bytes.Repeat([]byte{seed}, 32), use)
		if err != nil {
			t.Fatal(err)
		}
		origin := ""
		if use == Checkpoint {
			origin = "audit.example.org/in_test/e1"
		}
		k, err := NewKey(p.Public(), use, origin)
		if err != nil {
			t.Fatal(err)
		}
		k.NotBefore = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		k.Status, k.LastSize = Retired, int64(seed)
		list = append(list, k)
	}
	text, err := MarshalKeys(list)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseKeys(text)
	if err != nil || len(read) != 2 || read[0] != list[0] || read[1] != list[1] {
		t.Fatalf("%+v, %v", read, err)
	}
	for name, bad := range map[string]string{
		"empty": "[]", "none": "", "null": "null", "space": " " + string(text),
		"twice":   string(text[:len(text)-1]) + "," + string(text[1:]),
		"unknown": strings.Replace(string(text), `"alg"`, `"aaa":1,"alg"`, 1),
		"id":      strings.Replace(string(text), "sha256:", "sha256:0", 1),
		"time":    strings.Replace(string(text), "2026", "26", 1),
		"size":    strings.Replace(string(text), `"last_size"`, `"trusted_size"`, 1),
	} {
		if got, err := ParseKeys([]byte(bad)); !FormatInvalid.Is(err) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := MarshalKeys(append(list, list[0])); !FormatInvalid.Is(err) {
		t.Errorf("a key twice: %v", err)
	}
}
