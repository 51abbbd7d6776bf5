package system_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	module "github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/system"
)

func vendor(t *testing.T, seed byte) (keys.Private, system.VendorKey) {
	t.Helper()
	private, err := keys.FromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize), keys.Statement)
	if err != nil {
		t.Fatal(err)
	}
	public, err := system.NewVendorKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

func licence(t *testing.T, seed byte, tier system.Tier, end time.Time, features ...string) []byte {
	t.Helper()
	private, _ := vendor(t, seed)
	file, err := system.SignLicense(system.License{ID: "1", Customer: "Example", Tier: tier, NotAfter: end,
		Features: features}, private)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// file is what a licence file holds, and disk a place whose file changes.
type file struct {
	text []byte
	err  error
}

type disk struct{ now atomic.Pointer[file] }

func on(f file) *disk {
	d := &disk{}
	d.now.Store(&f)
	return d
}

func (d *disk) read() ([]byte, error) { f := d.now.Load(); return f.text, f.err }

func licenses(t *testing.T, d *disk) (*module.Licenses, error) {
	t.Helper()
	_, key := vendor(t, 1)
	return module.NewLicenses(module.LicenseParams{Source: system.LicenseSource{Read: d.read, Key: key}, Clock: stopped{}})
}

// TestTiers states what each licence allows. One that has ended allows what no licence allows.
func TestTiers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file  []byte
		state system.LicenseState
		tier  system.Tier
		has   bool
	}{
		"team": {licence(t, 1, system.Team, noon.Add(time.Second)), system.LicenseValid, system.Team, true},
		"pro":  {licence(t, 1, system.Pro, noon.Add(time.Second)), system.LicenseValid, system.Pro, false},
		"pro with the feature": {licence(t, 1, system.Pro, noon.Add(time.Second), audit.FeatureRegister),
			system.LicenseValid, system.Pro, true},
		"ended": {licence(t, 1, system.Team, noon), system.LicenseEnded, system.Free, false},
	} {
		l, err := licenses(t, on(file{text: tc.file}))
		if err != nil {
			t.Fatal(err)
		}
		if s := l.License(t.Context()); s.State != tc.state || s.Tier != tc.tier || s.License.Customer != "Example" {
			t.Errorf("%s: %+v", name, s)
		}
		if err := l.Require(t.Context(), audit.FeatureRegister); (err == nil) != tc.has {
			t.Errorf("%s: %v", name, err)
		}
	}
	none, err := module.NewLicenses(module.LicenseParams{Clock: stopped{}})
	if err != nil {
		t.Fatal(err)
	}
	var f *fault.Error
	err = none.Require(t.Context(), audit.FeatureRegister)
	if s := none.License(t.Context()); s.State != system.LicenseNone || s.Tier != system.Free ||
		!errors.As(err, &f) || f.Kind != fault.Unlicensed || f.Detail["feature"] != audit.FeatureRegister ||
		f.Detail["tier"] != "team" {
		t.Errorf("without a licence: %+v, %v", s, err)
	}
}

// TestLicenceFiles stops a start for a bad file. Later a bad file leaves the last good licence in force, which the
// doctor reports, and a good one takes its place.
func TestLicenceFiles(t *testing.T) {
	t.Parallel()
	good, later := licence(t, 1, system.Pro, noon.Add(time.Hour)), licence(t, 1, system.Team, noon.Add(90*24*time.Hour))
	tampered := bytes.Replace(good, []byte("payload\":\"eyJ"), []byte("payload\":\"eyK"), 1)
	if bytes.Equal(tampered, good) {
		t.Fatal("nothing was changed")
	}
	bad := map[string]file{
		"no file": {err: os.ErrNotExist}, "empty": {}, "text": {text: []byte("{}")}, "changed": {text: tampered},
		"of another vendor": {text: licence(t, 2, system.Team, noon.Add(time.Hour))},
		"too large":         {text: bytes.Repeat([]byte{'x'}, system.MaxLicenseFile+1)},
	}
	for name, f := range bad {
		if _, err := licenses(t, on(f)); err == nil || !strings.HasPrefix(err.Error(), "license: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, b := range bad {
		synctest.Test(t, func(t *testing.T) {
			d := on(file{text: good})
			l, err := licenses(t, d)
			if err != nil {
				t.Fatal(err)
			}
			l.Loop.Start()
			pass := func(now file) system.LicenseStatus {
				d.now.Store(&now)
				time.Sleep(time.Minute)
				synctest.Wait()
				return l.License(t.Context())
			}
			check := module.NewLicenseCheck(l, stopped{})
			s := pass(b)
			x, err := check.Examine(t.Context())
			if s.Tier != system.Pro || s.Problem == "" || err != nil || len(x.Findings) != 2 ||
				x.Findings[0].Severity != system.Error || !strings.Contains(x.Findings[0].Problem, s.Problem) ||
				x.Findings[1].Problem != "the licence ends in 0 days" {
				t.Errorf("%s: %+v, %+v %v", name, s, x, err)
			}
			s = pass(file{text: later})
			x, err = check.Examine(t.Context())
			if s.Tier != system.Team || s.Problem != "" || err != nil || len(x.Findings) != 0 || x.Examined != 1 {
				t.Errorf("%s, then a good file: %+v, %+v %v", name, s, x, err)
			}
			if err := l.Loop.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestEndedLicenceIsReported is a warning of the doctor, no error.
func TestEndedLicenceIsReported(t *testing.T) {
	t.Parallel()
	l, err := licenses(t, on(file{text: licence(t, 1, system.Team, noon.Add(-time.Hour))}))
	if err != nil {
		t.Fatal(err)
	}
	x, err := module.NewLicenseCheck(l, stopped{}).Examine(t.Context())
	if err != nil || len(x.Findings) != 1 || x.Findings[0].Severity != system.Warning ||
		!strings.Contains(x.Findings[0].Problem, "ended") {
		t.Errorf("%+v, %v", x, err)
	}
}

// TestFeaturesAreKnown compares the features that services ask for with the list of tiers.
func TestFeaturesAreKnown(t *testing.T) {
	t.Parallel()
	for _, feature := range []string{audit.FeatureRegister, policy.FeatureFive, policy.FeatureUnlimited,
		policy.FeatureDeny, policy.FeatureRisk, policy.FeatureActors, policy.FeatureDistinct} {
		if _, known := system.LicensedFeatures()[feature]; !known {
			t.Errorf("%s is in no tier", feature)
		}
	}
}
