package harness

import (
	"bytes"
	"crypto/ed25519"
	_ "embed"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/system"
)

// vendorPublic is the key that binaries under test trust for licences. It is that of vendorSeed.
//
//go:embed vendor.pub
var vendorPublic string //nolint:gochecknoglobals // embedded

const vendorSeed = 'v'

// Vendor returns the key that licences for the binary under test are signed by.
func Vendor(t testing.TB) keys.Private {
	t.Helper()
	key, err := keys.FromSeed(bytes.Repeat([]byte{vendorSeed}, ed25519.SeedSize), keys.Statement)
	if err != nil {
		t.Fatal(err)
	}
	if public := system.FormatVendorKey(key.Public()); public != strings.TrimSpace(vendorPublic) {
		t.Fatalf("e2e/harness/vendor.pub has to be %s", public)
	}
	return key
}

// Licence returns the text of a licence file of a tier that ends after a time.
func Licence(t testing.TB, tier system.Tier, left time.Duration, features ...string) []byte {
	t.Helper()
	file, err := system.SignLicense(system.License{ID: "test-1", Customer: "Example Inc.", Tier: tier,
		NotAfter: time.Now().Add(left).Truncate(time.Second), Features: features}, Vendor(t))
	if err != nil {
		t.Fatal(err)
	}
	return append(file, '\n')
}
