package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"sync"
	"testing"
)

type object = map[string]any

// key is a signing key of a provider.
type key struct {
	id, alg string
	private crypto.Signer
}

// rsaKeys are created once, because that takes long.
var rsaKeys = sync.OnceValues(func() (keys [2]*rsa.PrivateKey, err error) {
	for i := range keys {
		if keys[i], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			return keys, err
		}
	}
	return keys, nil
})

// newKey creates a key for an algorithm; which selects one of two RSA keys.
func newKey(t *testing.T, id, alg string, which int) key {
	t.Helper()
	switch alg {
	case "ES256":
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key{id, alg, k}
	case "EdDSA":
		_, k, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key{id, alg, k}
	default:
		keys, err := rsaKeys()
		if err != nil {
			t.Fatal(err)
		}
		return key{id, alg, keys[which]}
	}
}

// jwk returns the public key in the form of a key set.
func (k key) jwk() object {
	out := object{"kid": k.id, "use": "sig", "alg": k.alg}
	switch pub := k.private.Public().(type) {
	case *rsa.PublicKey:
		out["kty"], out["n"], out["e"] = "RSA", b64(pub.N.Bytes()), b64(big.NewInt(int64(pub.E)).Bytes())
	case *ecdsa.PublicKey:
		point, _ := pub.Bytes()
		out["kty"], out["crv"], out["x"], out["y"] = "EC", "P-256", b64(point[1:33]), b64(point[33:])
	case ed25519.PublicKey:
		out["kty"], out["crv"], out["x"] = "OKP", "Ed25519", b64(pub)
	}
	return out
}

func (k key) header() object { return object{"alg": k.alg, "kid": k.id, "typ": "JWT"} }

// sign creates a token. The key signs with its own algorithm, whatever the header contains.
func (k key) sign(header, payload object) string {
	text := compact(header, payload)
	return text + "." + b64(k.signature(text))
}

func (k key) signature(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	var sig []byte
	switch private := k.private.(type) {
	case *rsa.PrivateKey:
		if k.alg == "PS256" {
			sig, _ = rsa.SignPSS(rand.Reader, private, crypto.SHA256, sum[:],
				&rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		} else {
			sig, _ = rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:])
		}
	case *ecdsa.PrivateKey:
		r, s, _ := ecdsa.Sign(rand.Reader, private, sum[:])
		sig = make([]byte, 64)
		r.FillBytes(sig[:32])
		s.FillBytes(sig[32:])
	case ed25519.PrivateKey:
		sig = ed25519.Sign(private, []byte(text))
	}
	return sig
}

// unsigned creates a token with the algorithm none.
func unsigned(payload object) string { return compact(object{"alg": "none"}, payload) + "." }

// confused creates a token with HMAC over a public key, as an attacker would.
func (k key) confused(payload object) string {
	der, _ := x509.MarshalPKIXPublicKey(k.private.Public())
	text := compact(object{"alg": "HS256", "kid": k.id}, payload)
	mac := hmac.New(sha256.New, der)
	mac.Write([]byte(text))
	return text + "." + b64(mac.Sum(nil))
}

func compact(header, payload object) string {
	h, _ := json.Marshal(header)
	p, _ := json.Marshal(payload)
	return b64(h) + "." + b64(p)
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
