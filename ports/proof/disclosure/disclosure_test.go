package disclosure

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

type file struct {
	Valid   []struct{ Case, Disclosure, Digest, Salt, Name, Value string }
	Invalid []struct{ Case, Disclosure, Code string }
	Match   []struct {
		Case                     string
		SD, Disclosures, Missing []string
		Code                     string
	}
}

func vectors(t testing.TB) file {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "disclosures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Valid) == 0 || len(f.Invalid) == 0 || len(f.Match) == 0 {
		t.Fatal("the vectors are not there")
	}
	return f
}

func code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	return ""
}

func TestVectors(t *testing.T) {
	t.Parallel()
	f := vectors(t)
	if f.Valid[0].Digest != "npEbyCvfG1Ax4ldGi-75VVuL64I_n5rmXOb51GaZcqI" {
		t.Error("the base vector is another one")
	}
	for _, v := range f.Valid {
		d, err := Parse(v.Disclosure)
		if err != nil || hex.EncodeToString(d.Salt[:]) != v.Salt || string(d.Name) != v.Name || d.Value != v.Value {
			t.Errorf("%s: %v, %v", v.Case, d, err)
		}
		if got := Digest(v.Disclosure); got != v.Digest {
			t.Errorf("%s: digest %s", v.Case, got)
		}
		if got, err := d.Encode(); err != nil || got != v.Disclosure {
			t.Errorf("%s: encoded as %s, %v", v.Case, got, err)
		}
	}
	codes := make(map[string]bool)
	for _, v := range f.Invalid {
		if d, err := Parse(v.Disclosure); code(err) != v.Code || d != (Disclosure{}) {
			t.Errorf("%s: %v, want %s", v.Case, err, v.Code)
		}
		codes[v.Code] = true
	}
	for _, v := range f.Match {
		m, err := Match(v.SD, v.Disclosures)
		if code(err) != v.Code || !slices.Equal(m.Missing, v.Missing) {
			t.Errorf("%s: %v, %v", v.Case, m, err)
		}
		if err == nil && len(m.Open) != len(v.Disclosures) {
			t.Errorf("%s: %d are open", v.Case, len(m.Open))
		}
		codes[v.Code] = true
	}
	for _, c := range []Code{CodeSize, CodeEncoding, CodeJSON, CodeSalt, CodeName, CodeMismatch, CodeTwice,
		CodeNameTwice} {
		if !codes[string(c)] {
			t.Errorf("no vector is refused with %s", c)
		}
	}
}

func TestOpenOnesHaveTheOrderOfTheLeaf(t *testing.T) {
	t.Parallel()
	var sd, encoded []string
	values := make(map[string]string)
	for _, value := range []string{"a", "b", "c", "d", "e"} {
		d, err := New(Host, value)
		if err != nil {
			t.Fatal(err)
		}
		text, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		encoded, sd = append(encoded, text), append(sd, Digest(text))
		values[Digest(text)] = value
	}
	slices.Sort(sd)
	m, err := Match(sd, encoded)
	if err != nil || len(m.Open) != len(sd) {
		t.Fatal(m, err)
	}
	for i, digest := range sd {
		if m.Open[i].Value != values[digest] {
			t.Errorf("%d is %q, want %q", i, m.Open[i].Value, values[digest])
		}
	}
}

func TestSaltsAreFresh(t *testing.T) {
	t.Parallel()
	seen := make(map[[16]byte]bool)
	for range 1000 {
		d, err := New(Path, "/v1/runs")
		if err != nil || seen[d.Salt] || d.Salt == [16]byte{} {
			t.Fatal("a salt came twice, or none", err)
		}
		seen[d.Salt] = true
	}
}

func TestRefusedValues(t *testing.T) {
	t.Parallel()
	for want, d := range map[Code]Disclosure{
		CodeName: {Name: "sub.phone"},
		CodeJSON: {Name: Text, Value: "\xff"},
		CodeSize: {Name: Text, Value: strings.Repeat("x", MaxSize)},
	} {
		if text, err := d.Encode(); code(err) != string(want) || text != "" || strings.Contains(err.Error(), "xx") {
			t.Errorf("%.20q, %v, want %s", text, err, want)
		}
	}
	if _, err := (Disclosure{Name: Text, Value: "a\x00"}).Encode(); code(err) != string(CodeJSON) {
		t.Error(err)
	}
}

func TestWhateverFitsCanBeDisclosed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")), rapid.IntRange(0, 300).Draw(t, "times"))
		text += strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(0, 300).Draw(t, "again"))
		fit := Fit(text)
		if len(fit) > MaxValue || !utf8.ValidString(fit) {
			t.Fatalf("%d bytes", len(fit))
		}
		if len(text) <= MaxValue && utf8.ValidString(text) && !strings.Contains(text, "\x00") && fit != text {
			t.Fatalf("%q became %q", text, fit)
		}
		d := Disclosure{Name: NetAgent, Value: fit}
		encoded, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Parse(encoded); err != nil || back != d {
			t.Fatal(back, err)
		}
	})
	if fit := Fit(strings.Repeat("\x01", 4*MaxValue)); len(fit) != MaxValue {
		t.Errorf("%d bytes are left", len(fit))
	}
}

func TestMutationsNeverMatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := Fit(rapid.String().Draw(t, "value"))
		d, err := New(rapid.SampledFrom(Names()).Draw(t, "name"), value)
		if err != nil {
			t.Fatal(err)
		}
		text, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if m, err := Match([]string{Digest(text)}, []string{text}); err != nil || len(m.Open) != 1 || m.Open[0] != d {
			t.Fatal(m, err)
		}
		altered := []byte(text)
		altered[rapid.IntRange(0, len(text)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		if m, err := Match([]string{Digest(text)}, []string{string(altered)}); err == nil {
			t.Fatalf("%s matches as %v", altered, m)
		}
	})
}

func FuzzParse(f *testing.F) {
	all := vectors(f)
	for _, v := range all.Valid {
		f.Add(v.Disclosure)
	}
	for _, v := range all.Invalid {
		f.Add(v.Disclosure)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			if code(err) == "" {
				t.Fatal(err)
			}
			return
		}
		if again, err := d.Encode(); err != nil || again != text {
			t.Fatalf("%s is encoded as %s, %v", text, again, err)
		}
	})
}
