package saml

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rsa"
	_ "crypto/sha1" // the default of OAEP; it signs nothing
	_ "crypto/sha256"
	_ "crypto/sha512"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/beevik/etree"
)

// The methods that may encrypt an assertion and its key. CBC ciphers are refused because XML encryption with them is
// malleable and has padding oracles, and key transport by PKCS #1 v1.5 because it has oracles too.
const (
	nsEncryption11 = "http://www.w3.org/2009/xmlenc11#"

	aes128GCM = nsEncryption11 + "aes128-gcm"
	aes192GCM = nsEncryption11 + "aes192-gcm"
	aes256GCM = nsEncryption11 + "aes256-gcm"
	oaepMGF1  = nsEncryption + "rsa-oaep-mgf1p"
	oaep11    = nsEncryption11 + "rsa-oaep"

	maxKeys = 4
)

// keySizes returns the accepted ciphers with their key sizes in bytes.
func keySizes() map[string]int {
	return map[string]int{aes128GCM: 16, aes192GCM: 24, aes256GCM: 32}
}

func oaepDigests() map[string]crypto.Hash {
	return map[string]crypto.Hash{
		"": crypto.SHA1, nsSignature + "sha1": crypto.SHA1,
		nsEncryption + "sha256": crypto.SHA256, nsEncryption + "sha512": crypto.SHA512,
	}
}

func oaepMasks() map[string]crypto.Hash {
	return map[string]crypto.Hash{
		"": crypto.SHA1, nsEncryption11 + "mgf1sha1": crypto.SHA1,
		nsEncryption11 + "mgf1sha256": crypto.SHA256, nsEncryption11 + "mgf1sha512": crypto.SHA512,
	}
}

var errSealed = errors.New("sealed")

// open decrypts an EncryptedAssertion and returns its unverified assertion. Every failure from the first use of the
// key on is the same refusal, so that an attacker does not learn how far decryption came.
func open(sealed *etree.Element, key *rsa.PrivateKey) (*etree.Element, error) {
	data, err := child(sealed, nsEncryption, "EncryptedData")
	if err != nil {
		return nil, err
	}
	method, err := child(data, nsEncryption, "EncryptionMethod")
	if err != nil {
		return nil, err
	}
	alg := attr(method, "Algorithm")
	size, ok := keySizes()[alg]
	switch {
	case strings.HasSuffix(alg, "-cbc"):
		return nil, refuse("the assertion is encrypted with a CBC cipher; the provider has to use AES-GCM")
	case !ok:
		return nil, refuse("the encryption method is not allowed")
	}
	keys := children(sealed, nsEncryption, "EncryptedKey")
	for _, info := range children(data, nsSignature, "KeyInfo") {
		keys = append(keys, children(info, nsEncryption, "EncryptedKey")...)
	}
	if len(keys) == 0 || len(keys) > maxKeys {
		return nil, refuse("the encrypted assertion has no key, or too many")
	}
	for _, k := range keys {
		if err := wrapAllowed(k); err != nil {
			return nil, err
		}
	}
	el, err := unseal(data, keys, key, size)
	if err != nil {
		return nil, refuse("the encrypted assertion cannot be opened")
	}
	return el, nil
}

func wrapAllowed(k *etree.Element) error {
	method, err := child(k, nsEncryption, "EncryptionMethod")
	if err != nil {
		return err
	}
	if alg := attr(method, "Algorithm"); alg != oaepMGF1 && alg != oaep11 {
		return refuse("the key encryption method is not allowed")
	}
	return nil
}

func unseal(data *etree.Element, keys []*etree.Element, own *rsa.PrivateKey, size int) (*etree.Element, error) {
	ciphertext, err := cipherValue(data)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		secret, err := unwrap(k, own)
		if err != nil || len(secret) != size {
			continue
		}
		plain, err := decrypt(secret, ciphertext)
		if err != nil {
			continue
		}
		el, err := parse(plain, messageBounds())
		if err != nil || !is(el, nsAssertion, "Assertion") {
			continue
		}
		return el, nil
	}
	return nil, errSealed
}

// unwrap decrypts the key of an assertion with the server's key.
func unwrap(k *etree.Element, own *rsa.PrivateKey) ([]byte, error) {
	method, err := child(k, nsEncryption, "EncryptionMethod")
	if err != nil {
		return nil, err
	}
	var digest, mask string
	for _, el := range method.ChildElements() {
		switch {
		case is(el, nsSignature, "DigestMethod"):
			digest = attr(el, "Algorithm")
		case is(el, nsEncryption11, "MGF") && attr(method, "Algorithm") == oaep11:
			mask = attr(el, "Algorithm")
		default:
			return nil, errSealed
		}
	}
	hash, known := oaepDigests()[digest]
	mgf, also := oaepMasks()[mask]
	if !known || !also {
		return nil, errSealed
	}
	value, err := cipherValue(k)
	if err != nil {
		return nil, err
	}
	return own.Decrypt(nil, value, &rsa.OAEPOptions{Hash: hash, MGFHash: mgf})
}

func cipherValue(el *etree.Element) ([]byte, error) {
	data, err := child(el, nsEncryption, "CipherData")
	if err != nil {
		return nil, err
	}
	value, err := child(data, nsEncryption, "CipherValue")
	if err != nil {
		return nil, err
	}
	s, err := text(value)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(strip(s))
}

// decrypt decrypts a ciphertext that begins with its nonce.
func decrypt(secret, ciphertext []byte) ([]byte, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return gcm.Open(nil, nil, ciphertext, nil)
}
