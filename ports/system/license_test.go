package system_test

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/system"
)

func vendor(t *testing.T) (keys.Private, system.VendorKey) {
	t.Helper()
	private, err := keys.FromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize), keys.Statement)
	if err != nil {
		t.Fatal(err)
	}
	public, err := system.ParseVendorKey(system.FormatVendorKey(private.Public()))
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

func valid() system.License {
	return system.License{ID: "2026-1", Customer: "Example Inc.", Tier: system.Team, Features: []string{"change_register"},
		NotAfter: time.Date(2027, 12, 31, 23, 59, 59, 0, time.UTC)}
}

// TestLicenceRoundTrip signs a licence and opens it again. No changed byte of the file is accepted.
func TestLicenceRoundTrip(t *testing.T) {
	t.Parallel()
	private, public := vendor(t)
	file, err := system.SignLicense(valid(), private)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "\n"} {
		if got, err := public.Open(append(bytes.Clone(file), end...)); err != nil || cmp.Diff(valid(), got) != "" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for i := range file {
		changed := bytes.Clone(file)
		changed[i] ^= 1
		if _, err := public.Open(changed); err == nil {
			t.Errorf("byte %d may be changed", i)
		}
	}
	if _, err := (system.VendorKey{}).Open(file); err == nil || !strings.Contains(err.Error(), "built without") {
		t.Errorf("without a key: %v", err)
	}
}

// TestLicenceMembers refuses what a vendor cannot have meant.
func TestLicenceMembers(t *testing.T) {
	t.Parallel()
	private, _ := vendor(t)
	for name, change := range map[string]func(*system.License){
		"id":        func(l *system.License) { l.ID = "" },
		"customer":  func(l *system.License) { l.Customer = "two\nlines" },
		"tier":      func(l *system.License) { l.Tier = system.Free },
		"not_after": func(l *system.License) { l.NotAfter = l.NotAfter.Add(time.Millisecond) },
		"feature":   func(l *system.License) { l.Features = []string{"Upper"} },
		"features":  func(l *system.License) { l.Features = strings.Split(strings.Repeat("a ", 60), " ") },
	} {
		l := valid()
		change(&l)
		if _, err := system.SignLicense(l, private); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"x", "AAAA", strings.Repeat("A", 44)} {
		if _, err := system.ParseVendorKey(text); err == nil {
			t.Errorf("%s is taken for a key", text)
		}
	}
}
