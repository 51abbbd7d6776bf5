package sshkey

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des" //nolint:gosec // OpenSSL wrote keys with it for decades; they are read here, never written
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // the default of PKCS #5 where none is named
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"hash"

	"golang.org/x/crypto/scrypt"

	"github.com/writ-automation/writ/ports/secret"
)

// encryptedPKCS8 is the type of a PEM block with an encrypted PKCS #8 key, which the ssh library does not read.
const encryptedPKCS8 = "ENCRYPTED PRIVATE KEY"

const (
	// maxIterations is the most iterations of PBKDF2 that are spent on a key, some seconds of work.
	maxIterations = 5_000_000
	// maxScrypt is the most memory of scrypt, in bytes.
	maxScrypt = 64 << 20
	maxSalt   = 1 << 10
)

// The object identifiers of PKCS #5, and the ciphers and digests that go with it.
func oids() map[string]string {
	return map[string]string{
		"1.2.840.113549.1.5.13": "PBES2", "1.2.840.113549.1.5.12": "PBKDF2", "1.3.6.1.4.1.11591.4.11": "scrypt",
		"1.2.840.113549.2.7": "SHA-1", "1.2.840.113549.2.8": "SHA-224", "1.2.840.113549.2.9": "SHA-256",
		"1.2.840.113549.2.10": "SHA-384", "1.2.840.113549.2.11": "SHA-512",
		"1.2.840.113549.3.7": "3DES", "2.16.840.1.101.3.4.1.2": "AES-128", "2.16.840.1.101.3.4.1.22": "AES-192",
		"2.16.840.1.101.3.4.1.42": "AES-256",
	}
}

// openPKCS8 decrypts a key by PBES2 of RFC 8018. Anything older is not supported.
func openPKCS8(der []byte, passphrase secret.Text) (any, error) {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	var scheme struct{ KDF, Cipher pkix.AlgorithmIdentifier }
	if !whole(der, &info) {
		return nil, badKey("is not a private key in a form that OpenSSH reads")
	}
	if name(info.Algorithm) != "PBES2" || !whole(info.Algorithm.Parameters.FullBytes, &scheme) {
		return nil, unknownCipher()
	}
	if passphrase == "" {
		return nil, passphraseMissing()
	}
	size, ok := map[string]int{"3DES": 24, "AES-128": 16, "AES-192": 24, "AES-256": 32}[name(scheme.Cipher)]
	var iv []byte
	if !ok || !whole(scheme.Cipher.Parameters.FullBytes, &iv) {
		return nil, unknownCipher()
	}
	derived, ok := derive(scheme.KDF, passphrase.Reveal(), size)
	if !ok {
		return nil, unknownCipher()
	}
	block, err := blockCipher(name(scheme.Cipher), derived)
	if err != nil || len(iv) != block.BlockSize() || len(info.Data) == 0 || len(info.Data)%block.BlockSize() != 0 {
		return nil, badKey("is not a private key in a form that OpenSSH reads")
	}
	plain := make([]byte, len(info.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, info.Data)
	if plain, ok = unpad(plain, block.BlockSize()); !ok {
		return nil, passphraseWrong()
	}
	key, err := x509.ParsePKCS8PrivateKey(plain)
	if err != nil {
		return nil, passphraseWrong()
	}
	return key, nil
}

// whole parses DER that nothing follows.
func whole(der []byte, v any) bool {
	rest, err := asn1.Unmarshal(der, v)
	return err == nil && len(rest) == 0
}

func name(a pkix.AlgorithmIdentifier) string { return oids()[a.Algorithm.String()] }

func blockCipher(name string, key []byte) (cipher.Block, error) {
	if name == "3DES" {
		return des.NewTripleDESCipher(key) //nolint:gosec // as above
	}
	return aes.NewCipher(key)
}

// derive derives the key from a passphrase. It returns false for an unknown function or one that costs too much.
func derive(kdf pkix.AlgorithmIdentifier, passphrase string, size int) ([]byte, bool) {
	switch name(kdf) {
	case "PBKDF2":
		return deriveByPBKDF2(kdf.Parameters.FullBytes, passphrase, size)
	case "scrypt":
		var p struct {
			Salt                 []byte
			Cost, Block, Threads int
			Length               int `asn1:"optional"`
		}
		if !whole(kdf.Parameters.FullBytes, &p) || len(p.Salt) > maxSalt || p.Cost < 2 || p.Block < 1 || p.Threads < 1 ||
			p.Cost > maxScrypt/128 || p.Block > maxScrypt/128/p.Cost || p.Threads > 4 {
			return nil, false
		}
		key, err := scrypt.Key([]byte(passphrase), p.Salt, p.Cost, p.Block, p.Threads, size)
		return key, err == nil
	default:
		return nil, false
	}
}

func deriveByPBKDF2(parameters []byte, passphrase string, size int) ([]byte, bool) {
	var p struct {
		Salt       []byte
		Iterations int
		Length     int                      `asn1:"optional"`
		Digest     pkix.AlgorithmIdentifier `asn1:"optional"`
	}
	if !whole(parameters, &p) || len(p.Salt) > maxSalt || p.Iterations < 1 || p.Iterations > maxIterations ||
		p.Length != 0 && p.Length != size {
		return nil, false
	}
	digest := "SHA-1"
	if len(p.Digest.Algorithm) > 0 {
		digest = name(p.Digest)
	}
	h, ok := map[string]func() hash.Hash{
		"SHA-1": sha1.New, "SHA-224": sha256.New224, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New,
	}[digest]
	if !ok {
		return nil, false
	}
	key, err := pbkdf2.Key(h, passphrase, p.Salt, p.Iterations, size)
	return key, err == nil
}

// unpad removes the padding of PKCS #7. A wrong key nearly always makes the padding invalid.
func unpad(b []byte, size int) ([]byte, bool) {
	n := int(b[len(b)-1])
	if n == 0 || n > size || n > len(b) || !bytes.Equal(b[len(b)-n:], bytes.Repeat([]byte{byte(n)}, n)) {
		return nil, false
	}
	return b[:len(b)-n], true
}
