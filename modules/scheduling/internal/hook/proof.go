package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"

	"github.com/writ-automation/writ/ports/scheduling"
)

// The headers with the signature of a delivery.
const (
	githubProof  = "X-Hub-Signature-256" // "sha256=" and the HMAC in hex
	githubPrefix = "sha256="
	giteaProof   = "X-Gitea-Signature" // the HMAC in hex
	forgejoProof = "X-Forgejo-Signature"
	gitlabProof  = "X-Gitlab-Token" // the secret itself
)

// proofs lists the accepted headers.
func proofs() []string { return []string{githubProof, giteaProof, forgejoProof, gitlabProof} }

// values returns the values of a header. A forge without a secret sends an empty signature, which counts as absent.
func values(d *scheduling.Delivery, header string) []string {
	var out []string
	for _, v := range d.Header.Values(header) {
		if v != "" && (header != githubProof || v != githubPrefix) {
			out = append(out, v)
		}
	}
	return out
}

// proven reports whether the delivery has any signature.
func proven(d *scheduling.Delivery) bool {
	for _, header := range proofs() {
		if len(values(d, header)) > 0 {
			return true
		}
	}
	return false
}

// verify reports whether every signature of a delivery is valid for the secret and the unchanged body.
func verify(d *scheduling.Delivery, secret []byte) bool {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(d.Body) // it never fails
	sum := mac.Sum(nil)
	for _, header := range proofs() {
		for _, v := range values(d, header) {
			if !one(header, v, sum, secret) {
				return false
			}
		}
	}
	return true
}

func one(header, value string, sum, secret []byte) bool {
	if header == gitlabProof {
		raw, is := sha256.Sum256([]byte(value)), sha256.Sum256(secret)
		return subtle.ConstantTimeCompare(raw[:], is[:]) == 1
	}
	if header == githubProof {
		var ok bool
		if value, ok = strings.CutPrefix(value, githubPrefix); !ok {
			return false
		}
	}
	raw, err := hex.DecodeString(value)
	return err == nil && hmac.Equal(raw, sum)
}
