package system

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// LicenseType is the payload type of a licence file, which is a DSSE envelope with one signature of the vendor.
const LicenseType = "application/vnd.writ.license+json"

// MaxLicenseFile bounds a licence file in bytes.
const MaxLicenseFile = 64 << 10

// The bounds of the members of a licence.
const (
	maxLicenseText     = 200
	maxLicenseFeatures = 50
)

// wireLicense is the payload.
type wireLicense struct {
	ID       string   `json:"id"`
	Customer string   `json:"customer"`
	Tier     string   `json:"tier"`
	NotAfter string   `json:"not_after"` // RFC 3339 in UTC, whole seconds
	Features []string `json:"features"`
}

// VendorKey is a public key of a vendor. The zero value verifies nothing.
type VendorKey struct{ ring keys.Ring }

// NewVendorKey describes a public key.
func NewVendorKey(public ed25519.PublicKey) (VendorKey, error) {
	k, err := keys.NewKey(public, keys.Statement, "")
	if err != nil {
		return VendorKey{}, err
	}
	k.Status = keys.Active
	ring, err := keys.NewRing(k)
	return VendorKey{ring}, err
}

// ParseVendorKey reads a public key from 32 bytes in base64. An empty text is the zero value.
func ParseVendorKey(text string) (VendorKey, error) {
	if text == "" {
		return VendorKey{}, nil
	}
	public, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(public) != ed25519.PublicKeySize {
		return VendorKey{}, keys.FormatInvalid.New("a vendor key is %d bytes in base64", ed25519.PublicKeySize)
	}
	return NewVendorKey(public)
}

// FormatVendorKey is the reverse of ParseVendorKey.
func FormatVendorKey(public ed25519.PublicKey) string {
	return base64.StdEncoding.EncodeToString(public)
}

// Known reports whether there is a key.
func (k VendorKey) Known() bool { return len(k.ring.Keys()) > 0 }

// SignLicense returns a licence file. Faults: FormatInvalid for an invalid licence, KeyUntrusted for another signer
// than a statement key.
func SignLicense(l License, vendor keys.Signer) ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	payload, err := keys.Encode(wireLicense{ID: l.ID, Customer: l.Customer, Tier: string(l.Tier),
		NotAfter: l.NotAfter.UTC().Format(time.RFC3339), Features: append([]string{}, l.Features...)})
	if err != nil {
		return nil, err
	}
	e, err := dsse.Sign(LicenseType, payload, vendor)
	if err != nil {
		return nil, err
	}
	return e.Marshal()
}

// Open verifies a licence file and returns the licence, which may have ended. Faults: FormatInvalid, KeyUntrusted for
// a file of another vendor or no key, SignatureInvalid.
func (k VendorKey) Open(file []byte) (License, error) {
	if !k.Known() {
		return License{}, keys.KeyUntrusted.New("this program was built without the key of a vendor")
	}
	if len(file) > MaxLicenseFile {
		return License{}, keys.FormatInvalid.New("a licence file has at most %d bytes", MaxLicenseFile)
	}
	e, err := dsse.Parse(bytes.TrimRight(file, "\n"), LicenseType)
	if err != nil {
		return License{}, err
	}
	if _, err := e.Verify(k.ring); err != nil {
		return License{}, err
	}
	var w wireLicense
	if err := keys.Decode(e.Payload, &w); err != nil {
		return License{}, err
	}
	end, err := time.Parse(time.RFC3339, w.NotAfter)
	if err != nil || end.UTC().Format(time.RFC3339) != w.NotAfter {
		return License{}, keys.FormatInvalid.New("not_after is not a time in UTC with whole seconds")
	}
	l := License{ID: w.ID, Customer: w.Customer, Tier: Tier(w.Tier), NotAfter: end, Features: w.Features}
	return l, l.check()
}

func (l License) check() error {
	for name, text := range map[string]string{"id": l.ID, "customer": l.Customer} {
		if text == "" || len(text) > maxLicenseText || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
			return keys.FormatInvalid.New("%s has 1 to %d bytes on one line", name, maxLicenseText)
		}
	}
	if l.Tier != Pro && l.Tier != Team {
		return keys.FormatInvalid.New("tier is %s or %s", Pro, Team)
	}
	if l.NotAfter.IsZero() || l.NotAfter.Nanosecond() != 0 {
		return keys.FormatInvalid.New("not_after is a time with whole seconds")
	}
	if len(l.Features) > maxLicenseFeatures {
		return keys.FormatInvalid.New("a licence has at most %d features", maxLicenseFeatures)
	}
	for _, f := range l.Features {
		if f == "" || len(f) > maxLicenseText || strings.Trim(f, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return keys.FormatInvalid.New("a feature has lower-case letters, digits and underscores")
		}
	}
	return nil
}
