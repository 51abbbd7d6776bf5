package system

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/system"
)

// readLicenseEvery is the pause between two looks at the licence file.
const readLicenseEvery = 10 * time.Second

// Licenses checks what the install is licensed for, by a file that is read again when it changes.
type Licenses struct {
	source system.LicenseSource
	clock  clock.Clock
	now    atomic.Pointer[licenseFile]
	// Loop reads the file. It has to be started, and may be stopped at any time.
	Loop *background.Loop
}

// licenseFile is what was read last: the text, the last good licence, and what is wrong with the text.
type licenseFile struct {
	text    []byte
	license system.License
	problem string
}

var _ system.Licenses = (*Licenses)(nil)

// NewLicenses reads the licence file. It returns an error for a file that cannot be read or is not signed by the
// vendor. A licence that has ended is no error.
func NewLicenses(p LicenseParams) (*Licenses, error) {
	l := &Licenses{source: p.Source, clock: p.Clock}
	l.now.Store(&licenseFile{})
	l.Loop = &background.Loop{Name: "license", Pass: l.read, First: readLicenseEvery, Every: readLicenseEvery,
		Log: cmp.Or(p.Log, slog.New(slog.DiscardHandler)), Observer: p.Observer}
	if err := l.read(context.Background()); err != nil {
		return nil, fmt.Errorf("license: %w", err)
	}
	return l, nil
}

// read reads the file again. A bad file leaves the last good licence in force. It returns an error once for each text.
func (l *Licenses) read(context.Context) error {
	if l.source.Read == nil {
		return nil
	}
	was := l.now.Load()
	text, err := l.source.Read()
	if err == nil && bytes.Equal(text, was.text) && len(text) > 0 {
		return nil
	}
	var license system.License
	if err == nil {
		license, err = l.source.Key.Open(text)
	}
	if err == nil {
		l.now.Store(&licenseFile{text: text, license: license})
		return nil
	}
	if problem := err.Error(); problem != was.problem {
		l.now.Store(&licenseFile{text: text, license: was.license, problem: problem})
		return errors.New(problem)
	}
	return nil
}

// License returns the licence in force.
func (l *Licenses) License(context.Context) system.LicenseStatus {
	f := l.now.Load()
	s := system.LicenseStatus{State: system.LicenseNone, Tier: system.Free, License: f.license, Problem: f.problem}
	switch {
	case f.license.ID == "":
	case !l.clock.Now().Before(f.license.NotAfter):
		s.State = system.LicenseEnded
	default:
		s.State, s.Tier = system.LicenseValid, f.license.Tier
	}
	return s
}

// Require returns an Unlicensed fault if the install lacks the feature.
func (l *Licenses) Require(ctx context.Context, feature string) error {
	s := l.License(ctx)
	if s.State == system.LicenseValid && s.License.Allows(feature) {
		return nil
	}
	return system.Unlicensed(feature)
}

// endingSoon is how long before the end of a licence the doctor reports it.
const endingSoon = 14 * 24 * time.Hour

// LicenseCheck reports a licence file that is not used, and a licence that ends soon or has ended.
type LicenseCheck struct {
	licenses system.Licenses
	clock    clock.Clock
}

var _ system.Check = (*LicenseCheck)(nil)

// NewLicenseCheck creates the check.
func NewLicenseCheck(l system.Licenses, c clock.Clock) *LicenseCheck { return &LicenseCheck{l, c} }

func (*LicenseCheck) Name() string { return "license" }

func (c *LicenseCheck) Examine(ctx context.Context) (system.Examination, error) {
	s := c.licenses.License(ctx)
	if s.State == system.LicenseNone && s.Problem == "" {
		return system.Examination{}, nil
	}
	out := system.Examination{Examined: 1}
	add := func(severity system.Severity, problem, fix string) {
		out.Findings = append(out.Findings, system.Finding{Severity: severity,
			Object:  system.Subject{Kind: "license", ID: s.License.ID, Name: s.License.Customer},
			Problem: problem, Fix: fix, Link: "/v1/license"})
	}
	if s.Problem != "" {
		add(system.Error, "the licence file is not used: "+s.Problem, "put back the file of the vendor")
	}
	left := s.License.NotAfter.Sub(c.clock.Now())
	switch {
	case s.State == system.LicenseEnded:
		add(system.Warning, "the licence ended at "+s.License.NotAfter.Format(time.RFC3339),
			"put a new file in its place; what exists continues to work until then")
	case s.State == system.LicenseValid && left < endingSoon:
		add(system.Warning, fmt.Sprintf("the licence ends in %d days", int(left/(24*time.Hour))),
			"put a new file in its place")
	}
	return out, nil
}
