package cli

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/system"
)

// TestLicence makes the key of a vendor and a licence by the command line, and verifies it without a server. A server
// refuses a file of another vendor at its start and a licensed endpoint without a licence, follows a new file, and
// goes back to the tier community at the end. An install that ends keeps all that it has.
func TestLicence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "license.json")
	write := func(text []byte) {
		if err := os.WriteFile(file+".new", text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	s := harness.Start(t, harness.Options{})
	u := userOf(t, s)
	key := filepath.Join(dir, "vendor.key")
	code, public, errs := u.do("license", "new-key", key)
	if info, err := os.Stat(key); code != 0 || err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%d %s %v", code, errs, err)
	}
	if code, _, _ := u.do("license", "new-key", key); code == 0 {
		t.Error("the key was replaced")
	}
	code, text, errs := u.do("license", "new", "--key-file", key, "--id", "7", "--customer", "Example Inc.", "--tier",
		"pro", "--not-after", time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "--feature", "change_register")
	if code != 0 {
		t.Fatal(errs)
	}
	write([]byte(text))
	if code, out, errs := u.do("license", "verify", file, "--key", strings.TrimSpace(public)); code != 0 ||
		!strings.Contains(out, "Example Inc.") || !strings.Contains(out, "state      valid") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if code, _, errs := u.do("license", "verify", file); code != 1 || !strings.Contains(errs, "trusted key") {
		t.Errorf("another vendor: %d %s", code, errs)
	}
	for flag, args := range map[string][]string{"--key-file": {"--not-after", "x"}, "--not-after": {"--key-file", key},
		"customer": {"--key-file", key, "--not-after", "2027-01-01T00:00:00Z", "--id", "1"}} {
		if code, _, errs := u.do(append([]string{"license", "new"}, args...)...); code != 2 || !strings.Contains(errs, flag) {
			t.Errorf("%s: %d %s", flag, code, errs)
		}
	}
	if _, err := harness.Launch(t, harness.Options{Flags: []string{"--license", file}}); err == nil ||
		!strings.Contains(err.Error(), "license: ") {
		t.Errorf("a server with the file of another vendor: %v", err)
	}
	if a := s.Do(http.MethodGet, "/v1/audit/register", nil); a.Status != http.StatusForbidden ||
		!bytes.Contains(a.Body, []byte(`"license_required"`)) || !bytes.Contains(a.Body, []byte(`"change_register"`)) {
		t.Errorf("without a licence: %d %s", a.Status, a.Body)
	}
	if code, out, _ := u.do("license", "show"); code != 0 || !strings.Contains(out, "community") {
		t.Errorf("%d %s", code, out)
	}
	licensed(t, file, write)
}

// licensed follows a licence from its first file to its end.
func licensed(t *testing.T, file string, write func([]byte)) {
	t.Helper()
	write(harness.Licence(t, system.Team, 400*24*time.Hour))
	s := harness.Start(t, harness.Options{Flags: []string{"--license", file}})
	register := func() int { return s.Do(http.MethodGet, "/v1/audit/register", nil).Status }
	if got := register(); got != http.StatusOK {
		t.Errorf("with a licence: %d", got)
	}
	until := func(state string) {
		t.Helper()
		deadline := time.Now().Add(waitTimeout)
		for {
			_, out, _ := userOf(t, s).do("license", "show", "--json")
			if strings.Contains(out, state) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("no %s: %s", state, out)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	write([]byte("{}"))
	until(`"problem"`)
	var doctor struct {
		OK       bool
		Findings []struct{ Check, Severity string }
	}
	s.Do(http.MethodGet, "/v1/doctor", nil).JSON(t, &doctor)
	if got := register(); got != http.StatusOK || doctor.OK {
		t.Errorf("a bad file ended the licence: %d, or the doctor is content: %+v", got, doctor)
	}
	write(harness.Licence(t, system.Team, 0))
	until(`"state": "ended"`)
	if got := register(); got != http.StatusForbidden {
		t.Errorf("after the end: %d", got)
	}
}
