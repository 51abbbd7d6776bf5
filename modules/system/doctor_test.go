package system_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	module "github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/system"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// check is a check with configurable behaviour.
type check struct {
	name  string
	calls atomic.Int32
	fn    func(context.Context) (system.Examination, error)
}

func (c *check) Name() string { return c.name }

func (c *check) Examine(ctx context.Context) (system.Examination, error) {
	c.calls.Add(1)
	return c.fn(ctx)
}

func finds(name string, examined int, list ...system.Finding) *check {
	return &check{name: name, fn: func(context.Context) (system.Examination, error) {
		return system.Examination{Examined: examined, Findings: list}, nil
	}}
}

func doctor(t *testing.T, log *slog.Logger, checks ...system.Check) *module.Doctor {
	t.Helper()
	d, err := module.NewDoctor(module.DoctorParams{Checks: checks, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func examine(t *testing.T, d *module.Doctor) system.Report {
	t.Helper()
	r, err := d.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func closed(t *testing.T, d *module.Doctor) {
	t.Helper()
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func found(s system.Severity, kind, name string) system.Finding {
	return system.Finding{Severity: s, Object: system.Subject{Kind: kind, Name: name}, Problem: "p", Fix: "f",
		Link: "/v1/x"}
}

func TestDoctorSorts(t *testing.T) {
	t.Parallel()
	d := doctor(t, nil,
		finds("late", 3, found(system.Warning, "", ""), found(system.Notice, "a", "x"), found(system.Error, "b", "y"),
			found(system.Warning, "b", "a")),
		finds("early", 4, found(system.Warning, "z", "b"), found(system.Warning, "z", "a"), found("odd", "a", "x")),
		finds("quiet", 0))
	defer closed(t, d)
	var got []string
	r := examine(t, d)
	for _, f := range r.Findings {
		got = append(got, fmt.Sprint(f.Severity, " ", f.Check, " ", f.Object.Kind, f.Object.Name))
	}
	want := []string{"error early ax", "error late by", "warning early za", "warning early zb", "warning late ba",
		"warning late ", "info late ax"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"late": 3, "early": 4, "quiet": 0}, r.Checked); diff != "" || r.OK {
		t.Error(r.OK, diff)
	}
	r.Findings[0].Problem, r.Checked["late"] = "changed", 99
	if again := examine(t, d); again.Findings[0].Problem != "p" || again.Checked["late"] != 3 {
		t.Errorf("callers share what they were given: %+v", again)
	}
}

func TestDoctorIsContent(t *testing.T) {
	t.Parallel()
	for _, d := range []*module.Doctor{doctor(t, nil),
		doctor(t, nil, finds("a", 1, found(system.Warning, "a", "b"), found(system.Notice, "a", "b")))} {
		if r := examine(t, d); !r.OK || r.Findings == nil {
			t.Errorf("%+v", r)
		}
		closed(t, d)
	}
}

// TestDoctorTellsHowManyMore: a check has more findings than the limit.
func TestDoctorTellsHowManyMore(t *testing.T) {
	t.Parallel()
	const most = system.MaxFindings
	for _, test := range []struct {
		errors, warnings, infos int
		reported                int
		last                    string
	}{
		{0, most, 0, most, "warning p"},
		{0, most + 1, 0, most, "warning there are 2 more findings of this check"},
		{50, 60, 20, most, "warning there are 31 more findings of this check"},
		{99, 0, 2, most, "info there are 2 more findings of this check"},
		{5000, 0, 7000, most, "error there are 11901 more findings of this check"},
	} {
		var list []system.Finding
		for s, n := range map[system.Severity]int{system.Error: test.errors, system.Warning: test.warnings,
			system.Notice: test.infos} {
			for i := range n {
				list = append(list, found(s, "k", fmt.Sprint(i)))
			}
		}
		d := doctor(t, nil, finds("many", 1, list...))
		r := examine(t, d)
		closed(t, d)
		last := r.Findings[len(r.Findings)-1]
		if len(r.Findings) != test.reported || string(last.Severity)+" "+last.Problem != test.last || last.Check != "many" {
			t.Errorf("%+v: %d told, the last is %+v", test, len(r.Findings), last)
		}
	}
}

// TestChecksThatCannotLook: a failure of a check is an additional finding, which contains only text for people.
func TestChecksThatCannotLook(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	part := system.Examination{Examined: 2, Findings: []system.Finding{found(system.Notice, "a", "b")}}
	fails := func(name string, err error) *check {
		return &check{name: name, fn: func(context.Context) (system.Examination, error) { return part, err }}
	}
	d := doctor(t, slog.New(slog.NewTextHandler(&log, nil)),
		fails("a_fault", fmt.Errorf("read: %w",
			fault.Wrap(fault.Unavailable, errors.New("hidden"), "the database\nis away."))),
		fails("internal", fault.Wrap(fault.Internal, errors.New("hidden"), "hidden")),
		fails("plain", errors.New("hidden")),
		&check{name: "panics", fn: func(context.Context) (system.Examination, error) { panic("the sky falls") }})
	r := examine(t, d)
	closed(t, d)
	const page = "/docs/guides/doctor.md"
	if _, err := os.Stat("../.." + page); err != nil {
		t.Error(err)
	}
	var got []string
	for _, f := range r.Findings {
		if f.Severity == system.Error && f.Object == (system.Subject{}) && f.Fix != "" && f.Link == page {
			got = append(got, f.Check+": "+f.Problem)
		}
	}
	want := []string{
		"a_fault: the check a_fault could not run: the database is away", "internal: the check internal could not run",
		"panics: the check panics failed unexpectedly", "plain: the check plain could not run",
	}
	if diff := cmp.Diff(want, got); diff != "" || r.OK || len(r.Findings) != 7 {
		t.Errorf("%d findings %s", len(r.Findings), diff)
	}
	if diff := cmp.Diff(map[string]int{"a_fault": 2, "internal": 2, "plain": 2, "panics": 0}, r.Checked); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"the sky falls", "hidden", "check=plain", "doctor_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
}

// TestChecksThatTakeTooLong has one check that obeys its context, one that does not, and one that runs after both.
func TestChecksThatTakeTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		heeds := &check{name: "heeds", fn: func(ctx context.Context) (system.Examination, error) {
			<-ctx.Done()
			return system.Examination{Examined: 5}, ctx.Err()
		}}
		hangs := &check{name: "hangs", fn: func(context.Context) (system.Examination, error) {
			<-release
			return system.Examination{Examined: 7}, nil
		}}
		d := doctor(t, nil, heeds, hangs, finds("well", 1))
		problems := func() (out []string) {
			for _, f := range examine(t, d).Findings {
				out = append(out, f.Problem)
			}
			return out
		}
		start := time.Now()
		first := problems()
		want := []string{"the check hangs did not end within 10 seconds",
			"the check heeds did not end within 10 seconds"}
		if diff := cmp.Diff(want, first); diff != "" {
			t.Error(diff)
		}
		second := problems()
		if len(second) != 2 || second[0] != "the check hangs still runs from an earlier examination" {
			t.Errorf("%v", second)
		}
		if took := time.Since(start); took != 10*time.Second+9500*time.Millisecond || hangs.calls.Load() != 1 ||
			heeds.calls.Load() != 2 {
			t.Errorf("two examinations took %v, and %d checks hang", took, hangs.calls.Load())
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := d.Close(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed over a check that hangs: %v", err)
		}
		close(release)
		synctest.Wait()
		closed(t, d)
		closed(t, d)
		if _, err := d.Examine(t.Context()); !fault.Is(err, fault.Unavailable) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestAHungCheckComesBack: a check runs again after a hung run has ended.
func TestAHungCheckComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := doctor(t, nil, &check{name: "hangs", fn: func(context.Context) (system.Examination, error) {
			<-release
			return system.Examination{Examined: 7}, nil
		}})
		if r := examine(t, d); r.OK || r.Checked["hangs"] != 0 {
			t.Errorf("%+v", r)
		}
		close(release)
		synctest.Wait()
		if r := examine(t, d); !r.OK || r.Checked["hangs"] != 7 {
			t.Errorf("%+v", r)
		}
		closed(t, d)
	})
}

// TestExaminationsAreShared: many callers share an examination, and one of them cancels.
func TestExaminationsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		release := make(chan struct{})
		var checks []system.Check
		for i := range 10 {
			checks = append(checks, &check{name: fmt.Sprint("c", i), fn: func(ctx context.Context) (system.Examination, error) {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				<-release
				return system.Examination{Examined: 1}, ctx.Err()
			}})
		}
		d := doctor(t, nil, checks...)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if r := examine(t, d); !r.OK || len(r.Checked) != 10 {
					t.Errorf("%+v", r)
				}
			})
		}
		gone, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			if _, err := d.Examine(gone); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		if now.Load() != 4 {
			t.Errorf("%d checks at once", now.Load())
		}
		close(release)
		all.Wait()
		if most.Load() != 4 {
			t.Errorf("%d checks at once", most.Load())
		}
		for _, c := range checks {
			if n := c.(*check).calls.Load(); n != 1 {
				t.Errorf("%s ran %d times", c.Name(), n)
			}
		}
		closed(t, d)
	})
}

// TestCloseEndsWhatIsUnderWay: Close ends a running check.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := doctor(t, nil, &check{name: "waits", fn: func(ctx context.Context) (system.Examination, error) {
			<-ctx.Done()
			return system.Examination{}, ctx.Err()
		}})
		var asked sync.WaitGroup
		asked.Go(func() {
			if r := examine(t, d); r.OK {
				t.Errorf("%+v", r)
			}
		})
		synctest.Wait()
		start := time.Now()
		closed(t, d)
		asked.Wait()
		if took := time.Since(start); took != 0 {
			t.Errorf("the end took %v", took)
		}
	})
}

func TestNewDoctorRefuses(t *testing.T) {
	t.Parallel()
	for _, checks := range [][]system.Check{{nil}, {finds("", 0)}, {finds("Disk", 0)}, {finds("a-b", 0)},
		{finds("a", 0), finds("b", 0), finds("a", 0)}} {
		if _, err := module.NewDoctor(module.DoctorParams{Checks: checks}); err == nil {
			t.Errorf("%v is accepted", checks)
		}
	}
}
