package dsse

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
)

const testOrigin = "audit.example.org/in_test/e1"

// install is a log with its keys, whose seal a test changes before it signs it.
type install struct {
	head, passphrase keys.Private
	seal             keys.Seal
}

func since(k *keys.Key) { k.NotBefore = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func newInstall(t testing.TB, headSeed, wordSeed byte) install {
	t.Helper()
	in := install{head: signer(t, headSeed, keys.Checkpoint), passphrase: signer(t, wordSeed, keys.Statement)}
	in.seal = keys.Seal{
		Service: keys.Product{Name: "writ", Version: "1.0.0"}, InstallID: "in_test", Origin: testOrigin, Epoch: 1,
		Epochs:     []keys.Epoch{{N: 1, FirstSeq: 1}},
		Keys:       []keys.Key{public(t, in.head, since), public(t, in.passphrase, since)},
		Checkpoint: note(t, 30, in.head), Formats: []string{ReceiptV1, BundleV1},
		TSA:       []keys.TSA{{Name: "tsa.example.org", Cert: sha256.Sum256([]byte("cert"))}},
		UpdatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
	}
	return in
}

func note(t testing.TB, size int64, signers ...keys.Signer) string {
	t.Helper()
	out, err := checkpoint.Sign(checkpoint.Body{Origin: testOrigin, Size: size, Root: sha256.Sum256([]byte("root"))},
		signers...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func (in install) publish(t testing.TB) []byte {
	t.Helper()
	out, err := SignSeal(in.seal, in.passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSealRoundTrip(t *testing.T) {
	t.Parallel()
	in := newInstall(t, 1, 3)
	data := in.publish(t)
	got, err := OpenSeal(data, ring(t, in.seal.Keys...), in.seal.Keys[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	got.Sig = nil
	if diff := cmp.Diff(in.seal, got); diff != "" {
		t.Error(diff)
	}
	if _, err := OpenSeal(data, ring(t, in.seal.Keys[1])); err != nil {
		t.Errorf("trusting the statement key alone: %v", err)
	}
	trusted := ring(t, in.seal.Keys...)
	for i := range data {
		// A quick run changes the first byte of every value and every 53rd.
		if !depthtest.Long && i%53 > 0 && data[i-1] != ':' {
			continue
		}
		bad := bytes.Clone(data)
		bad[i] ^= 0x01
		if s, err := OpenSeal(bad, trusted); err == nil || keys.CodeOf(err) == "" {
			t.Fatalf("byte %d changed: %+v, %v", i, s, err)
		}
	}
}

// A13: both the file's signature and seal.json are of the attacker's keys; only the pin reveals it.
func TestSwappedSeal(t *testing.T) {
	t.Parallel()
	true1, thief := newInstall(t, 1, 3), newInstall(t, 11, 13)
	pinned := ring(t, true1.seal.Keys...)
	_, err := OpenSeal(thief.publish(t), pinned)
	refused(t, err, keys.KeyUntrusted)
	if _, err := OpenSeal(thief.publish(t), ring(t, thief.seal.Keys...)); err != nil {
		t.Errorf("without a pin the false seal agrees with itself: %v", err)
	}
	// Only the statement key is stolen, not the checkpoint key.
	half := thief
	half.passphrase = true1.passphrase
	half.seal.Keys = []keys.Key{thief.seal.Keys[0], true1.seal.Keys[1]}
	_, err = OpenSeal(half.publish(t), pinned)
	refused(t, err, keys.KeyUntrusted)
	// A signature is carried over to another seal.
	s, err := keys.ParseSeal(true1.publish(t))
	if err != nil {
		t.Fatal(err)
	}
	s.VerifyPage = "https://evil.example/verify"
	moved, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenSeal(moved, pinned)
	refused(t, err, keys.SignatureInvalid)
	// A seal without a signature.
	rest, err := s.Rest()
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenSeal(rest, pinned)
	refused(t, err, keys.SignatureInvalid)
}

func TestSealFollowsRotation(t *testing.T) {
	t.Parallel()
	in := newInstall(t, 1, 3)
	pinned := ring(t, in.seal.Keys...)
	next := signer(t, 2, keys.Checkpoint)
	over := note(t, 20, in.head, next)
	in.seal.Keys = append(in.seal.Keys, public(t, next, since, func(k *keys.Key) { k.FirstSize, k.Handover = 20, over }))
	in.seal.Keys[0].Status, in.seal.Keys[0].LastSize = keys.Retired, 20
	_, err := OpenSeal(in.publish(t), pinned)
	refused(t, err, keys.KeyRetired) // the newest checkpoint is still by the old key
	in.seal.Checkpoint = note(t, 30, next)
	if _, err := OpenSeal(in.publish(t), pinned); err != nil {
		t.Fatal(err)
	}
	in.seal.Keys[2].Handover = note(t, 20, next)
	_, err = OpenSeal(in.publish(t), pinned)
	refused(t, err, keys.KeyUntrusted)
}

// A14: a seal cannot reactivate a key that the reader knows to be retired.
func TestSealBringsNoKeyBack(t *testing.T) {
	t.Parallel()
	in := newInstall(t, 1, 3)
	data := in.publish(t)
	head, text := in.seal.Keys[0], in.seal.Keys[1]
	ended := text
	ended.Status, ended.LastSize = keys.Retired, 29
	_, err := OpenSeal(data, ring(t, head, ended))
	refused(t, err, keys.KeyRetired)
	ended = head
	ended.Status, ended.LastSize = keys.Retired, 29
	_, err = OpenSeal(data, ring(t, ended, text))
	refused(t, err, keys.KeyRetired)
	ended.Status, ended.LastSize, ended.TrustedSize = keys.Revoked, 0, 10
	_, err = OpenSeal(data, ring(t, ended, text))
	refused(t, err, keys.KeyUntrusted)
}

func TestSealChecksItsParts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*keys.Seal){
		"another epoch":     func(s *keys.Seal) { s.Epoch = 2 },
		"no epochs":         func(s *keys.Seal) { s.Epochs = nil },
		"closed newest":     func(s *keys.Seal) { s.Epochs[0].Closed = true },
		"origin":            func(s *keys.Seal) { s.Origin = "https://a/e1" },
		"no service":        func(s *keys.Seal) { s.Service.Name = "" },
		"no formats":        func(s *keys.Seal) { s.Formats = nil },
		"no time":           func(s *keys.Seal) { s.UpdatedAt = time.Time{} },
		"no checkpoint":     func(s *keys.Seal) { s.Checkpoint = "" },
		"no UTF-8":          func(s *keys.Seal) { s.Policy = "\xff" },
		"one key":           func(s *keys.Seal) { s.Keys = s.Keys[:1] },
		"a key twice":       func(s *keys.Seal) { s.Keys = append(s.Keys, s.Keys[0]) },
		"another's id":      func(s *keys.Seal) { s.Keys[0].ID = s.Keys[1].ID },
		"another's vkey":    func(s *keys.Seal) { s.Keys[0].VKey = strings.Replace(s.Keys[0].VKey, "in_test", "in_oops", 1) },
		"algorithm":         func(s *keys.Seal) { s.Keys[0].Alg = "none" },
		"status":            func(s *keys.Seal) { s.Keys[0].Status = "fine" },
		"no active key":     func(s *keys.Seal) { s.Keys[0].Status = keys.Next },
		"size of no status": func(s *keys.Seal) { s.Keys[0].LastSize = 4 },
		"key without time":  func(s *keys.Seal) { s.Keys[0].NotBefore = time.Time{} },
	} {
		in := newInstall(t, 1, 3)
		change(&in.seal)
		if _, err := SignSeal(in.seal, in.passphrase); !keys.FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzSeal(f *testing.F) {
	in := newInstall(f, 1, 3)
	good := in.publish(f)
	trusted := ring(f, in.seal.Keys...)
	f.Add(good)
	f.Add(bytes.Replace(good, []byte(`"v":1`), []byte(`"v":2`), 1))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := OpenSeal(data, trusted); err == nil && !bytes.Equal(data, good) {
			t.Fatalf("%q verifies", data)
		}
		s, err := keys.ParseSeal(data)
		if err != nil {
			if keys.CodeOf(err) == "" {
				t.Fatalf("an error without a code: %v", err)
			}
			return
		}
		if again, err := s.Marshal(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%q is written as %q, %v", data, again, err)
		}
	})
}
