package policy

import (
	"cmp"
	"errors"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/policy/internal/evaluate"
	"github.com/writ-automation/writ/modules/policy/internal/file"
	"github.com/writ-automation/writ/modules/policy/internal/inforce"
	"github.com/writ-automation/writ/modules/policy/internal/manage"
	"github.com/writ-automation/writ/modules/policy/internal/simulate"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the ports of the context, and a check of the doctor.
var Module = fx.Module("policy", fx.Provide(provide))

// Params are the dependencies of New. Log may be nil.
type Params struct {
	fx.In

	Store   policy.Store
	Windows policy.WindowStore
	// Calendar reads the times of windows.
	Calendar policy.Calendar
	// Signals wake who waits for windows.
	Signals events.Signals
	// Source is the file that replaces the store, if there is one.
	Source   policy.Source
	Accounts identity.AccountStore
	Teams    identity.TeamStore
	Licenses system.Licenses
	// Runs are what drafts are compared with.
	Runs runs.Store
	// Guard and Owners decide for the callers.
	Guard  access.Guard
	Owners access.Owners
	// Recorder records each change in its unit of work.
	Recorder audit.Recorder
	Unit     tx.Unit
	Clock    clock.Clock
	IDs      ids.Generator
	Log      *slog.Logger
	Observer background.Observer `optional:"true"`
}

// Result holds the ports of the context. The caller starts Background.
type Result struct {
	fx.Out

	Policies   policy.Policies
	Windows    policy.Windows
	Evaluator  policy.Evaluator
	Check      system.Check `group:"checks"`
	Background Background
}

// Background reads the file of policies again when it changes. Without a file it does nothing.
type Background struct{ background.Group }

func provide(life fx.Lifecycle, p Params) (Result, error) {
	r, err := New(p)
	if err == nil {
		life.Append(fx.StartStopHook(r.Background.Start, r.Background.Stop))
	}
	return r, err
}

// CheckSource reads the file of a source. The error names the file, and the field at fault.
func CheckSource(s policy.Source) error {
	_, err := file.New(s, slog.New(slog.DiscardHandler), nil)
	return err
}

// New creates the context and starts nothing. It returns an error that names the file and the field for a file that is
// not valid.
func New(p Params) (Result, error) {
	if p.Recorder == nil {
		return Result{}, errors.New("policy: changes need a recorder")
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	var (
		work    Background
		inFile  manage.File
		decides inforce.File
		problem = func() string { return "" }
	)
	if p.Source.Read != nil {
		f, err := file.New(p.Source, p.Log, p.Observer)
		if err != nil {
			return Result{}, err
		}
		inFile, decides, problem, work.Group = f, f, f.Problem, background.Group{f.Loop}
	}
	set, subjects := inforce.New(p.Store, p.Windows, decides), manage.Subjects{Accounts: p.Accounts, Teams: p.Teams}
	kernel := object.Kernel{Unit: p.Unit, Clock: p.Clock, IDs: p.IDs, Log: p.Log, Recorder: p.Recorder}
	permissions := &object.Permissions{Guard: p.Guard, Owners: p.Owners}
	return Result{
		Evaluator: evaluate.New(set, p.Windows, p.Calendar, p.Clock, p.Teams),
		Windows:   manage.NewWindows(kernel, permissions, p.Windows, set, p.Calendar, p.Signals),
		Policies: manage.New(manage.Params{
			Kernel: kernel, Permissions: permissions,
			Store: p.Store, Set: set, File: inFile, Subjects: subjects,
			Licenses: manage.Licenses{Licenses: p.Licenses}, Past: simulate.Past{Runs: p.Runs, Teams: p.Teams},
		}),
		Check: &check{set: set, subjects: subjects, problem: problem}, Background: work,
	}, nil
}
