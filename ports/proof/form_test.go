package proof

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/dsse"
)

// sign adds a manifest to a document that a test changed, like a server that signs it.
func (w *fixture) sign(t testing.TB, body string, h bundle.Head) []byte {
	t.Helper()
	s, err := dsse.NewStatement(dsse.BundleV1, h.Manifest(),
		dsse.Subject{Name: bundle.SubjectName, SHA256: sha256.Sum256([]byte(body))})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := dsse.SignStatement(s, w.passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(body + `,"manifest":` + string(signed) + "}\n")
}

// TestFormAttacks changes a document and signs it again. Only its form is invalid.
// Keeps T36.
func TestFormAttacks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 9)
	h := w.window(t, 2, 7)
	h.Anchors, h.Consistency = []bundle.Anchor{w.anchor(t, 3)}, w.consistency(t, 4)
	body, _, _ := strings.Cut(string(w.write(t, h)), `,"manifest":`)
	ends(t, w.check(t, w.sign(t, body, h)), "", 0, 0)
	for name, swap := range map[string][2]string{
		"white space":       {`"from":2`, `"from": 2`},
		"a member twice":    {`"from":2,`, `"from":2,"from":2,`},
		"an unknown member": {`"from":2,`, `"from":2,"x":1,`},
		"another order":     {`"from":2,"to":7`, `"to":7,"from":2`},
		"another case":      {`"from":2`, `"From":2`},
		"a leading zero":    {`"from":2`, `"from":02`},
		"a float":           {`"from":2`, `"from":2.0`},
		"2^53+1":            {`"to":7`, `"to":9007199254740993`},
		"escaped ASCII":     {`"kind":"head_file"`, `"kind":"\u0068ead_file"`},
		"a lone surrogate":  {`"kind":"head_file"`, `"kind":"\ud800"`},
		"an unknown kind":   {`"kind":"head_file"`, `"kind":"hearsay"`},
		"a hostile id":      {`"id":"anc_3"`, `"id":"\u001b[2J"`},
		"another time":      {`"generated_at":"2026`, `"generated_at":"26`},
		"A21 a carriage return": {`"checkpoint":"audit.example.org/in_test/e1\n`,
			`"checkpoint":"audit.example.org/in_test/e1\r\n`},
		"A21 no empty line": {`\n\n— audit`, `\n— audit`},
		"A21 a zero in the size": {`"checkpoint":"audit.example.org/in_test/e1\n9`,
			`"checkpoint":"audit.example.org/in_test/e1\n09`},
		"A21 another size":        {`"size":3,"note"`, `"size":4,"note"`},
		"a window beyond":         {`"to":7`, `"to":10`},
		"no prev":                 {`,"prev":`, `,"before":`},
		"a disclosure list empty": {`"disclosures":[`, `"disclosures":[],"x":[`},
		"null":                    {`"consistency":{`, `"consistency":null,"x":{`},
		"a key of another id":     {`"kid":"sha256:`, `"kid":"sha256:0`},
		"a comma too many":        {`"entries":[`, `"entries":[,`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(body, swap[0], swap[1], 1)
			if bad == body {
				t.Fatal("nothing was changed")
			}
			ends(t, w.check(t, w.sign(t, bad, h)), FormatInvalid, 0, 0)
		})
	}
	good := string(w.sign(t, body, h))
	for name, bad := range map[string]string{
		"two signature lines of one key": strings.Replace(good, `=\n","keys"`,
			`=\n— audit.example.org/in_test/e1 AAAAAAA=\n— audit.example.org/in_test/e1 AAAAAAA=\n","keys"`, 1),
		"something behind": good + "\n", "no newline": strings.TrimSuffix(good, "\n"), "cut": good[:len(good)/2],
		"nesting":          strings.Replace(good, `"manifest":`, `"manifest":`+strings.Repeat("[", 1<<16), 1),
		"a very long text": strings.Replace(good, `{"leaf":"`, `{"leaf":"`+strings.Repeat("a", 1<<17), 1),
	} {
		if bad == good {
			t.Fatalf("%s: nothing was changed", name)
		}
		ends(t, w.check(t, []byte(bad)), FormatInvalid, 0, 0)
	}
	ends(t, w.check(t, []byte(strings.Replace(good, "usr_1", "usr_7", 1))), ChainBreak, 2, 3)
	ends(t, w.check(t, []byte(strings.Replace(good, `"generated_at":"2026`, `"generated_at":"2025`, 1))),
		ProofInvalid, 0, 0)
}

func TestOtherFilesAreNotVerified(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "PK\x03\x04", `{"v":2,"origin":"a"}`, strings.Repeat("\x00", 1<<20)} {
		if v, err := VerifyBundle(t.Context(), strings.NewReader(text), Trust{}, begin); !errors.Is(err, bundle.ErrUnknown) {
			t.Errorf("%.10q: %+v, %v", text, v, err)
		}
	}
	w := newFixture(t, 2)
	doc := w.write(t, w.whole(t))
	for _, key := range []string{"", "nonsense", w.listed[0].VKey + "x"} {
		if _, err := VerifyBundle(t.Context(), bytes.NewReader(doc), Trust{VKeys: []string{key}}, begin); err == nil {
			t.Errorf("the key %q passes", key)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := VerifyBundle(ctx, bytes.NewReader(doc), Trust{}, begin); !errors.Is(err, context.Canceled) {
		t.Errorf("once it was given up: %v", err)
	}
	if _, err := VerifyBundle(t.Context(), bytes.NewReader(doc), Trust{From: &Head{Size: -1}}, begin); err == nil {
		t.Error("a negative size passes")
	}
}
