package saml

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// envelope describes the encryption of an assertion, independent of the code under test.
type envelope struct {
	alg, wrap, inWrap string
	size              int
	oaep              func() hash.Hash
	outside           bool // the key next to the data instead of in it
	spoil             func(ciphertext []byte) []byte
}

func (e envelope) seal(t testing.TB, plain []byte, to *rsa.PublicKey) string {
	t.Helper()
	secret := make([]byte, e.size)
	rand.Read(secret)
	block, err := aes.NewCipher(secret)
	if err != nil {
		t.Fatal(err)
	}
	var ciphertext []byte
	if strings.HasSuffix(e.alg, "-cbc") {
		pad := aes.BlockSize - len(plain)%aes.BlockSize
		plain = append(append([]byte{}, plain...), make([]byte, pad)...)
		plain[len(plain)-1] = byte(pad)
		ciphertext = make([]byte, aes.BlockSize+len(plain))
		rand.Read(ciphertext[:aes.BlockSize])
		cipher.NewCBCEncrypter(block, ciphertext[:aes.BlockSize]).CryptBlocks(ciphertext[aes.BlockSize:], plain)
	} else {
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			t.Fatal(err)
		}
		nonce := make([]byte, gcm.NonceSize())
		rand.Read(nonce)
		ciphertext = gcm.Seal(nonce, nonce, plain, nil)
	}
	if e.spoil != nil {
		ciphertext = e.spoil(ciphertext)
	}
	wrapped, err := rsa.EncryptOAEP(e.oaep(), rand.Reader, to, secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	value := func(b []byte) string {
		return "<xenc:CipherData><xenc:CipherValue>" + base64.StdEncoding.EncodeToString(b) +
			"</xenc:CipherValue></xenc:CipherData>"
	}
	key := fmt.Sprintf(`<xenc:EncryptedKey xmlns:xenc="%s"><xenc:EncryptionMethod Algorithm="%s">%s</xenc:EncryptionMethod>%s</xenc:EncryptedKey>`,
		nsEncryption, e.wrap, e.inWrap, value(wrapped))
	inside, outside := `<ds:KeyInfo xmlns:ds="`+nsSignature+`">`+key+`</ds:KeyInfo>`, ""
	if e.outside {
		inside, outside = "", key
	}
	return fmt.Sprintf(`<saml:EncryptedAssertion><xenc:EncryptedData xmlns:xenc="%s"><xenc:EncryptionMethod Algorithm="%s"/>%s%s`+
		`</xenc:EncryptedData>%s</saml:EncryptedAssertion>`, nsEncryption, e.alg, inside, value(ciphertext), outside)
}

// sealed returns a response with an encrypted assertion.
func sealed(t testing.TB, l letter, e envelope, to *rsa.PublicKey) []byte {
	t.Helper()
	root := l.build(t)
	assertion := find(t, root, "Assertion")
	root.RemoveChild(assertion)
	outer := element(t, `<x xmlns:saml="`+nsAssertion+`">`+e.seal(t, write(t, assertion), to)+`</x>`).ChildElements()[0]
	root.AddChild(outer)
	return write(t, root)
}

func TestEncryptedAnswers(t *testing.T) {
	t.Parallel()
	const sha256Digest = `<ds:DigestMethod xmlns:ds="` + nsSignature + `" Algorithm="` + nsEncryption + `sha256"/>`
	const sha256Mask = `<m:MGF xmlns:m="` + nsEncryption11 + `" Algorithm="` + nsEncryption11 + `mgf1sha256"/>`
	gcm := envelope{alg: aes256GCM, wrap: oaepMGF1, size: 32, oaep: sha1.New}
	cbc := func(size int) envelope {
		return envelope{alg: fmt.Sprintf("%saes%d-cbc", nsEncryption, size*8), wrap: oaepMGF1, size: size, oaep: sha1.New}
	}
	with := func(e envelope, change func(*envelope)) envelope { change(&e); return e }
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	for name, tc := range map[string]struct {
		envelope envelope
		letter   letter
		to       *identityKey
		cause    string
	}{
		"GCM":         {envelope: gcm},
		"AES-128-CBC": {envelope: cbc(16), cause: "encrypted with a CBC cipher; the provider has to use AES-GCM"},
		"AES-192-CBC": {envelope: cbc(24), cause: "encrypted with a CBC cipher"},
		"AES-256-CBC": {envelope: cbc(32), cause: "encrypted with a CBC cipher"},
		"AES-128-GCM": {envelope: with(gcm, func(e *envelope) { e.alg, e.size = aes128GCM, 16 })},
		"AES-192-GCM": {envelope: with(gcm, func(e *envelope) { e.alg, e.size = aes192GCM, 24 })},
		"key beside":  {envelope: with(gcm, func(e *envelope) { e.outside = true })},
		"OAEP with SHA-256": {envelope: with(gcm, func(e *envelope) {
			e.wrap, e.inWrap, e.oaep = oaep11, sha256Digest+sha256Mask, sha256.New
		})},
		"signed around":   {envelope: gcm, cause: "Assertion is not signed", letter: letter{unsigned: true}},
		"another's key":   {envelope: gcm, to: wrongKey(), cause: "cannot be opened"},
		"by a stranger":   {envelope: gcm, letter: letter{key: wrongKey()}, cause: "fits no key"},
		"same ID outside": {envelope: gcm, letter: letter{assertionID: "_response"}, cause: "ID is there twice"},
		"cut nonce":       {envelope: with(gcm, func(e *envelope) { e.spoil = cut(5) }), cause: "cannot be opened"},
		"cut data":        {envelope: with(gcm, func(e *envelope) { e.spoil = cut(64) }), cause: "cannot be opened"},
		"no tag":          {envelope: with(gcm, func(e *envelope) { e.spoil = cut(12) }), cause: "cannot be opened"},
		"flipped bit": {envelope: with(gcm, func(e *envelope) { e.spoil = func(b []byte) []byte { b[40] ^= 1; return b } }),
			cause: "cannot be opened"},
		"nothing": {envelope: with(gcm, func(e *envelope) { e.spoil = cut(0) }), cause: "cannot be opened"},
		"PKCS1 v1.5": {envelope: with(gcm, func(e *envelope) { e.wrap = nsEncryption + "rsa-1_5" }),
			cause: "key encryption method is not allowed"},
		"3DES": {envelope: with(gcm, func(e *envelope) { e.alg = nsEncryption + "tripledes-cbc" }),
			cause: "encrypted with a CBC cipher"},
		"CTR": {envelope: with(gcm, func(e *envelope) { e.alg = nsEncryption11 + "aes256-ctr" }),
			cause: "the encryption method is not allowed"},
		"another size": {envelope: with(gcm, func(e *envelope) { e.size = 16 }), cause: "cannot be opened"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, withKey(t))
			var relay string
			tc.letter.request, relay = b.begin(t)
			if tc.to == nil {
				tc.to = ownKey()
			}
			got, err := b.answered(t, answer(sealed(t, tc.letter, tc.envelope, &tc.to.key.PublicKey), relay))
			if tc.cause != "" {
				refused(t, b, got, err, tc.cause)
				return
			}
			if diff := cmp.Diff(alice(), got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// TestEncryptedWithoutKey refuses an assertion that cannot be decrypted, with the reason.
func TestEncryptedWithoutKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	request, relay := b.begin(t)
	e := envelope{alg: aes256GCM, wrap: oaepMGF1, size: 32, oaep: sha1.New}
	got, err := b.answered(t, answer(sealed(t, letter{request: request}, e, &ownKey().key.PublicKey), relay))
	refused(t, b, got, err, "encrypted and no key is configured")
}
