package dsse

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// A17: a receipt of one run is presented for another one.
func TestReceiptOfAnotherRun(t *testing.T) {
	t.Parallel()
	p := signer(t, 3, keys.Statement)
	o, err := OpenStatement(receipt(t, "run_a", p), ReceiptV1, ring(t, public(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	a, b := sha256.Sum256([]byte("run_a")), sha256.Sum256([]byte("run_b"))
	if err := o.About("run_a", a); err != nil {
		t.Error(err)
	}
	refused(t, o.About("run_b", b), keys.ProofInvalid)
	refused(t, o.About("run_b", a), keys.ProofInvalid)
	refused(t, o.About("run_a", b), keys.ProofInvalid)
}

// A14: the sizes of a statement key are checked when the statement's checkpoint is known.
func TestStatementKeysSpeakForTheirSizes(t *testing.T) {
	t.Parallel()
	p := signer(t, 3, keys.Statement)
	k := public(t, p, func(k *keys.Key) { k.Status, k.FirstSize, k.LastSize = keys.Retired, 5, 100 })
	o, err := OpenStatement(receipt(t, "run_a", p), ReceiptV1, ring(t, k))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Admit(100); err != nil {
		t.Error(err)
	}
	refused(t, o.Admit(101), keys.KeyRetired)
	refused(t, o.Admit(4), keys.KeyUntrusted)
	refused(t, Opened{}.Admit(1), keys.KeyUntrusted)
}

func TestStatementHasOneForm(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("ab", 32)
	good := `{"_type":"https://in-toto.io/Statement/v1","predicate":{"v":1},"predicateType":"` + ReceiptV1 +
		`","subject":[{"digest":{"sha256":"` + digest + `"},"name":"run_1"}]}`
	s, err := ParseStatement([]byte(good))
	if err != nil || len(s.Subjects) != 1 || s.Subjects[0].Name != "run_1" || string(s.Predicate) != `{"v":1}` {
		t.Fatalf("%+v, %v", s, err)
	}
	if again, err := s.Marshal(); err != nil || string(again) != good {
		t.Fatalf("written as %s, %v", again, err)
	}
	for name, edit := range map[string][2]string{
		"old statement":      {"Statement/v1", "Statement/v0.1"},
		"unversioned":        {"receipt/v1", "receipt"},
		"version zero":       {"receipt/v1", "receipt/v0"},
		"foreign predicate":  {"https://github.com/writ-automation", "https://example.com/writ"},
		"no subject":         {`{"digest":{"sha256":"` + digest + `"},"name":"run_1"}`, ""},
		"no name":            {`"run_1"`, `""`},
		"short digest":       {digest, digest[2:]},
		"large hex":          {digest, strings.ToUpper(digest)},
		"second algorithm":   {`"digest":{`, `"digest":{"md5":"00",`},
		"predicate list":     {`{"v":1}`, `[1]`},
		"null predicate":     {`{"v":1}`, `null`},
		"float":              {`{"v":1}`, `{"v":1.0}`},
		"exponent":           {`{"v":1}`, `{"v":1e3}`},
		"beyond 2^53":        {`{"v":1}`, `{"v":9007199254740992}`},
		"minus zero":         {`{"v":1}`, `{"v":-0}`},
		"null inside":        {`{"v":1}`, `{"v":null}`},
		"duplicate inside":   {`{"v":1}`, `{"v":1,"v":1}`},
		"order inside":       {`{"v":1}`, `{"v":1,"a":1}`},
		"lone surrogate":     {`{"v":1}`, `{"v":"\ud800"}`},
		"escaped ASCII":      {`{"v":1}`, `{"v":"\u0041"}`},
		"no UTF-8":           {`{"v":1}`, "{\"v\":\"\xff\"}"},
		"deep":               {`{"v":1}`, `{"v":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`},
		"unknown member":     {`{"_type"`, `{"A":1,"_type"`},
		"two of one subject": {`"name":"run_1"}`, `"name":"run_1"},{"digest":{"sha256":"` + digest + `"},"name":"run_1"}`},
	} {
		bad := strings.Replace(good, edit[0], edit[1], 1)
		if _, err := ParseStatement([]byte(bad)); bad == good || !keys.FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := signer(t, 3, keys.Statement)
	_, err = OpenStatement(receipt(t, "run_1", p), BundleV1, ring(t, public(t, p)))
	refused(t, err, keys.FormatInvalid)
}
