package dsse

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/proof/keys"
)

func signer(t testing.TB, seed byte, use keys.Use) keys.Private {
	t.Helper()
	p, err := keys.FromSeed(bytes.Repeat([]byte{seed}, 32), use)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func public(t testing.TB, p keys.Private, change ...func(*keys.Key)) keys.Key {
	t.Helper()
	origin := ""
	if p.Use() == keys.Checkpoint {
		origin = testOrigin
	}
	k, err := keys.NewKey(p.Public(), p.Use(), origin)
	if err != nil {
		t.Fatal(err)
	}
	k.Status = keys.Active
	for _, c := range change {
		c(&k)
	}
	return k
}

func ring(t testing.TB, list ...keys.Key) keys.Ring {
	t.Helper()
	r, err := keys.NewRing(list...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func refused(t testing.TB, err error, want keys.Code) {
	t.Helper()
	if keys.CodeOf(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// receipt makes the envelope of a small receipt.
func receipt(t testing.TB, run string, signers ...keys.Signer) []byte {
	t.Helper()
	s, err := NewStatement(ReceiptV1, map[string]any{"v": 1, "mode": "sparse"},
		Subject{Name: run, SHA256: sha256.Sum256([]byte(run))})
	if err != nil {
		t.Fatal(err)
	}
	out, err := SignStatement(s, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The example of the DSSE specification, with lengths in bytes and not in characters.
func TestPAE(t *testing.T) {
	t.Parallel()
	if got := dsse.PAE("http://example.com/HelloWorld",
		[]byte("hello world")); string(got) != "DSSEv1 29 http://example.com/HelloWorld 11 hello world" {
		t.Errorf("%q", got)
	}
	if got := dsse.PAE("", []byte("ä")); string(got) != "DSSEv1 0  2 ä" {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		a, b := rapid.String().Draw(rt, "type"), rapid.SliceOf(rapid.Byte()).Draw(rt, "payload")
		c, d := rapid.String().Draw(rt, "type"), rapid.SliceOf(rapid.Byte()).Draw(rt, "payload")
		if (a != c || !bytes.Equal(b, d)) && bytes.Equal(dsse.PAE(a, b), dsse.PAE(c, d)) {
			rt.Fatalf("two messages of one encoding: %q %q, %q %q", a, b, c, d)
		}
	})
}

func TestEnvelopeHasOneForm(t *testing.T) {
	t.Parallel()
	p := signer(t, 3, keys.Statement)
	good := string(receipt(t, "run_1", p))
	id := public(t, p).ID
	e, err := Parse([]byte(good), StatementType)
	if err != nil {
		t.Fatal(err)
	}
	payload := base64.StdEncoding.EncodeToString(e.Payload)
	sig := base64.StdEncoding.EncodeToString(e.Signatures[0].Sig)
	one := `{"keyid":"` + id + `","sig":"` + sig + `"}`
	if good != `{"payload":"`+payload+`","payloadType":"`+StatementType+`","signatures":[`+one+`]}` {
		t.Fatalf("the form is %s", good)
	}
	for name, bad := range map[string]string{
		"empty":            "",
		"white space":      strings.Replace(good, ":", ": ", 1),
		"trailing data":    good + "{}",
		"trailing newline": good + "\n",
		"unknown member":   strings.Replace(good, "{", `{"alg":"none",`, 1),
		"duplicate member": strings.Replace(good, "{", `{"payload":"",`, 1),
		"other case":       strings.Replace(good, `"payload"`, `"Payload"`, 1),
		"escaped ASCII":    strings.Replace(good, "sha256", `sha\u003256`, 1),
		"no signatures":    strings.Replace(good, one, "", 1),
		"null signatures":  strings.Replace(good, "["+one+"]", "null", 1),
		"one key twice":    strings.Replace(good, one, one+","+one, 1),
		"17 signatures":    strings.Replace(good, one, strings.Repeat(one+",", 16)+one, 1),
		"no keyid":         strings.Replace(good, `"keyid":"`+id+`",`, "", 1),
		"short keyid":      strings.Replace(good, id, id[:20], 1),
		"large hex":        strings.Replace(good, id, strings.ToUpper(id), 1),
		"loose base64":     strings.Replace(good, sig, sig[:85]+string(sig[85]+1)+"==", 1),
		"url base64": strings.Replace(good, payload, strings.NewReplacer("+", "-", "/", "_", "=", "").
			Replace(payload)+"-_", 1),
		"no payload": strings.Replace(good, payload, "", 1),
		"other type": strings.Replace(good, StatementType, SealType, 1),
		"too large":  strings.Repeat("x", MaxEnvelope+1),
	} {
		if bad == good {
			t.Errorf("%s changes nothing", name)
		}
		if _, err := OpenStatement([]byte(bad), ReceiptV1, ring(t, public(t, p))); !keys.FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A13: the keys that a file lists are not trusted.
func TestSwappedKeyIsUntrusted(t *testing.T) {
	t.Parallel()
	p, thief := signer(t, 3, keys.Statement), signer(t, 4, keys.Statement)
	trusted := ring(t, public(t, p))
	stolen := receipt(t, "run_1", thief)
	_, err := OpenStatement(stolen, ReceiptV1, trusted)
	refused(t, err, keys.KeyUntrusted)
	_, err = OpenStatement(stolen, ReceiptV1, keys.Ring{})
	refused(t, err, keys.KeyUntrusted)
	relabelled := bytes.Replace(stolen, []byte(public(t, thief).ID), []byte(public(t, p).ID), 1)
	_, err = OpenStatement(relabelled, ReceiptV1, trusted)
	refused(t, err, keys.SignatureInvalid)
	// A trusted checkpoint key may not sign statements.
	head := signer(t, 1, keys.Checkpoint)
	_, err = Sign(StatementType, []byte("{}"), head)
	refused(t, err, keys.KeyUntrusted)
	msg := dsse.PAE(StatementType, []byte("{}"))
	sig, err := head.Sign(msg)
	if err != nil {
		t.Fatal(err)
	}
	e := Envelope{PayloadType: StatementType, Payload: []byte("{}"),
		Signatures: []Signature{{KeyID: public(t, head).ID, Sig: sig}}}
	_, err = e.Verify(ring(t, public(t, head)))
	refused(t, err, keys.KeyUntrusted)
}

// A22: a required signature is removed; a payload signed for one type is presented as another.
func TestStrippedSignature(t *testing.T) {
	t.Parallel()
	p, q := signer(t, 3, keys.Statement), signer(t, 4, keys.Statement)
	a, b := public(t, p), public(t, q)
	trusted := ring(t, a, b)
	both := receipt(t, "run_1", p, q)
	if o, err := OpenStatement(both, ReceiptV1, trusted, a.ID, b.ID); err != nil || len(o.By) != 2 {
		t.Fatalf("%+v, %v", o, err)
	}
	_, err := OpenStatement(receipt(t, "run_1", p), ReceiptV1, trusted, a.ID, b.ID)
	refused(t, err, keys.SignatureInvalid)
	_, err = OpenStatement(both, ReceiptV1, ring(t, a), b.ID)
	refused(t, err, keys.KeyUntrusted)
	if _, err := OpenStatement(both, ReceiptV1, ring(t, a)); err != nil {
		t.Errorf("a stranger beside a trusted key is ignored: %v", err)
	}
	other, err := Sign(SealType, []byte("{}"), p)
	if err != nil {
		t.Fatal(err)
	}
	other.PayloadType = StatementType
	_, err = other.Verify(trusted)
	refused(t, err, keys.SignatureInvalid)
}

func TestNoMutatedByteVerifies(t *testing.T) {
	t.Parallel()
	p := signer(t, 3, keys.Statement)
	trusted, good := ring(t, public(t, p)), receipt(t, "run_1", p)
	for i := range good {
		for _, x := range []byte{0x01, 0x02, 0x04, 0x10, 0x20, 0x80} {
			bad := bytes.Clone(good)
			bad[i] ^= x
			if o, err := OpenStatement(bad, ReceiptV1, trusted); err == nil || keys.CodeOf(err) == "" {
				t.Fatalf("byte %d xor %#x: %+v, %v", i, x, o, err)
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, len(good)).Draw(rt, "at")
		cut := rapid.IntRange(0, min(8, len(good)-at)).Draw(rt, "cut")
		put := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(rt, "put")
		edited := append(append(bytes.Clone(good[:at]), put...), good[at+cut:]...)
		if _, err := OpenStatement(edited, ReceiptV1, trusted); err == nil && !bytes.Equal(edited, good) {
			rt.Fatalf("%q verifies", edited)
		}
	})
}

func FuzzEnvelope(f *testing.F) {
	p := signer(f, 3, keys.Statement)
	good := receipt(f, "run_1", p)
	trusted := ring(f, public(f, p))
	f.Add(good)
	f.Add([]byte(`{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[]}`))
	f.Add(append(bytes.Clone(good), '\n'))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := OpenStatement(data, ReceiptV1, trusted); err == nil && !bytes.Equal(data, good) {
			t.Fatalf("%q verifies", data)
		}
		e, err := Parse(data, StatementType)
		if err != nil {
			if !keys.FormatInvalid.Is(err) {
				t.Fatalf("%v", err)
			}
			return
		}
		if again, err := e.Marshal(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%q is written as %q, %v", data, again, err)
		}
		if s, err := ParseStatement(e.Payload); err == nil {
			if again, err := s.Marshal(); err != nil || !bytes.Equal(again, e.Payload) {
				t.Fatalf("%q is written as %q, %v", e.Payload, again, err)
			}
		}
	})
}

func TestOpenSSLVerifiesTheEnvelope(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Fatalf("openssl is missing; install the package openssl: %v", err)
	}
	p := signer(t, 3, keys.Statement)
	e, err := Parse(receipt(t, "run_1", p), StatementType)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"key.pem": []byte(public(t, p).SPKI),
		"pae": dsse.PAE(e.PayloadType, e.Payload), "sig": e.Signatures[0].Sig} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), openssl, "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in",
		"pae", "-sigfile", "sig")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("openssl refuses the envelope: %v\n%s", err, out)
	}
}

func BenchmarkSign(b *testing.B) {
	p, payload := signer(b, 3, keys.Statement), bytes.Repeat([]byte("x"), 64<<10)
	for b.Loop() {
		if _, err := Sign(StatementType, payload, p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenStatement(b *testing.B) {
	p := signer(b, 3, keys.Statement)
	leaves := make([]string, 2000)
	for i := range leaves {
		leaves[i] = strings.Repeat(`{"act":"run.submit"}`, 16)
	}
	s, err := NewStatement(ReceiptV1, map[string]any{"entries": leaves}, Subject{Name: "run_1"})
	if err != nil {
		b.Fatal(err)
	}
	data, err := SignStatement(s, p)
	if err != nil {
		b.Fatal(err)
	}
	trusted := ring(b, public(b, p))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := OpenStatement(data, ReceiptV1, trusted); err != nil {
			b.Fatal(err)
		}
	}
}
