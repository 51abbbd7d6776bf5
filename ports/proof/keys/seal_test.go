package keys

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// seal makes a seal with a key of each status. Its signature has only the right form.
func seal(t testing.TB) Seal {
	t.Helper()
	at := time.Date(2026, 1, 1, 0, 0, 0, 123000, time.UTC)
	retired, revoked, next, active, statement := head(t, 1), head(t, 2), head(t, 3), head(t, 4), text(t, 5)
	retired.Status, retired.LastSize = Retired, 20
	revoked.Status, revoked.FirstSize, revoked.TrustedSize, revoked.Handover = Revoked, 20, 0, "note\n"
	next.Status, active.FirstSize = Next, 30
	s := Seal{
		Service: Product{Name: "writ", Version: "1.0.0"}, InstallID: "in_test", Origin: baseOrigin, Epoch: 1,
		Epochs:     []Epoch{{N: 1, FirstSeq: 1, Reason: "first <&> \u2028"}},
		Keys:       []Key{retired, revoked, next, active, statement},
		Checkpoint: "a\nb\n", Policy: "log x\n", TSA: []TSA{{Name: "tsa", Cert: [32]byte{1}}}, Formats: []string{"a", "b"},
		VerifyPage: "https://example.org/verify", UpdatedAt: at, Sig: json.RawMessage(`{"a":1}`),
	}
	for i := range s.Keys {
		s.Keys[i].NotBefore = at
	}
	return s
}

func TestSealForm(t *testing.T) {
	t.Parallel()
	s := seal(t)
	data, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseSeal(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(data), `"reason":"first <&> `+"\u2028") ||
		!strings.Contains(string(data), `"trusted_size":0`) {
		t.Errorf("the form is %s", data)
	}
	rest, err := s.Rest()
	if err != nil || !bytes.Equal(rest, bytes.Replace(data, []byte(`"sig":{"a":1},`), nil, 1)) {
		t.Errorf("the rest is %s, %v", rest, err)
	}
	for name, edit := range map[string][2]string{
		"version":        {`"v":1,`, `"v":2,`},
		"unknown member": {`{"checkpoint"`, `{"a":1,"checkpoint"`},
		"duplicate":      {`"epoch":1,`, `"epoch":1,"epoch":1,`},
		"float":          {`"epoch":1,`, `"epoch":1.0,`},
		"null":           {`"policy":"log x\n"`, `"policy":null`},
		"empty policy":   {`"policy":"log x\n"`, `"policy":""`},
		"retired, open":  {`"last_size":20,`, ``},
		"revoked, open":  {`"trusted_size":0,`, ``},
		"time":           {`00.000123Z`, `00.0001230Z`},
		"offset":         {`00.000123Z`, `00.000123+00:00`},
		"certificate":    {`"cert_sha256":"01`, `"cert_sha256":"`},
		"root alone":     {`"n":1,`, `"last_root":"` + rootText + `","n":1,`},
		"escape":         {`writ`, `\u0077rit`},
	} {
		bad := strings.Replace(string(data), edit[0], edit[1], 1)
		if s, err := ParseSeal([]byte(bad)); bad == string(data) || !FormatInvalid.Is(err) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if _, err := ParseSeal(bytes.Repeat([]byte("x"), maxSeal+1)); !FormatInvalid.Is(err) {
		t.Errorf("too large: %v", err)
	}
	if _, err := ParseSeal(rest); !SignatureInvalid.Is(err) {
		t.Errorf("unsigned: %v", err)
	}
}

func TestSealEpochs(t *testing.T) {
	t.Parallel()
	s := seal(t)
	s.Origin, s.Epoch = "audit.example.org/in_test/e2", 2
	for i, k := range s.Keys {
		if k.Use == Checkpoint {
			moved, err := k.Under(s.Origin)
			if err != nil {
				t.Fatal(err)
			}
			s.Keys[i] = moved
		}
	}
	s.Epochs = []Epoch{{N: 1, FirstSeq: 1, Closed: true, LastSize: 9, LastRoot: [32]byte{7}},
		{N: 2, FirstSeq: 10, Reason: "restored"}}
	data, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseSeal(data); err != nil || !cmp.Equal(got, s) {
		t.Errorf("%s, %v", cmp.Diff(s, got), err)
	}
	for name, epochs := range map[string][]Epoch{
		"a gap": {s.Epochs[0], {N: 3, FirstSeq: 10}}, "two open": {{N: 1, FirstSeq: 1}, s.Epochs[1]},
		"the newest alone": {s.Epochs[1]},
		"open with an end": {s.Epochs[0], {N: 2, FirstSeq: 10, LastSize: 4}}, "no first": {s.Epochs[0], {N: 2}},
	} {
		bad := s
		bad.Epochs = epochs
		if _, err := bad.Marshal(); !FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	// The orders and escapes of RFC 8785, section 3.2.3, and what encoding/json writes differently.
	got, err := Encode(map[string]any{
		"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7,
		"esc": "<&>\u2028\u007f\b\f\n\r\t\x01\"\\/", "list": []any{true, false, -9007199254740991},
	})
	want := `{"\r":2,"1":4,"esc":"<&>` + "\u2028\u007f" + `\b\f\n\r\t\u0001\"\\/","list":[true,false,-9007199254740991],` +
		"\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001f600\":5,\"\ufb33\":3}"
	if err != nil || string(got) != want {
		t.Fatalf("got  %s\nwant %s\n%v", got, want, err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.String()).Draw(rt, "members")
		data, err := Encode(m)
		if strings.ContainsRune(fmt.Sprintf("%s", m), 0) { // the formats have no U+0000
			if !FormatInvalid.Is(err) {
				rt.Fatalf("%s, %v", data, err)
			}
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		var back map[string]string
		if err := Decode(data, &back); err != nil || !cmp.Equal(m, back) {
			rt.Fatalf("%s: %v", data, err)
		}
	})
	var refused string
	if err := Decode([]byte("\"a\\u0000\""), &refused); !FormatInvalid.Is(err) {
		t.Errorf("U+0000 is read: %q, %v", refused, err)
	}
	for _, bad := range []any{"a\x00", map[string]any{"\x00": true}, nil, 1.5, 1e20, []any{nil}, func() {},
		uint64(1 << 53)} {
		if got, err := Encode(bad); !FormatInvalid.Is(err) {
			t.Errorf("%v: %s, %v", bad, got, err)
		}
	}
}

func FuzzSealForm(f *testing.F) {
	good, err := seal(f).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(bytes.Replace(good, []byte(`"v":1`), []byte(`"v":1.0`), 1))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSeal(data)
		if err != nil {
			if CodeOf(err) == "" {
				t.Fatalf("an error without a code: %v", err)
			}
			return
		}
		if again, err := s.Marshal(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%q is written as %q, %v", data, again, err)
		}
	})
}
