package execution_test

import (
	"runtime"
	"testing"
	"time"

	"go.uber.org/fx"

	sqlexecution "github.com/writ-automation/writ/adapters/sqlstore/execution"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	ports "github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

func TestTheModuleRunsForTheLifeOfTheApplication(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	store := sqlexecution.New(d)
	var fleet ports.Fleet
	app := fx.New(fx.NopLogger, execution.Module, fx.Supply(b.config, b.tools), fx.Populate(&fleet), fx.Provide(
		func() ports.WorkerStore { return store },
		func() tx.Unit { return d },
		func() access.Guard { return guard{} },
		func() ports.ControlPlane { return b.plane },
		func() ports.Reaper { return b.reaper },
		func() events.Signals { return b.signals },
		func() clock.Clock { return fixedClock{} },
	))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.plane.submit(&runs.Run{ID: "run_1", Spec: runs.Spec{Command: "hi"}})
	if got := b.ended("run_1"); got.run.Status != runs.Succeeded {
		t.Errorf("ended as %+v", got.end)
	}
	listed := func() []ports.Worker {
		t.Helper()
		list, _, err := fleet.Workers(t.Context(), page.Window{})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for begun := time.Now(); len(listed()) == 0 &&
		time.Since(begun) < time.Minute; { // the first report is made beside the first claim
		runtime.Gosched()
	}
	if list := listed(); len(list) != 1 || list[0].Name != b.config.Worker || !list[0].Fresh {
		t.Errorf("the fleet is %+v", list)
	}
	if err := app.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := listed(); len(list) != 0 {
		t.Errorf("after its end the fleet is %+v", list)
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	good := execution.Config{Worker: "w", RunsDir: "/runs"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, breakSetting := range map[string]func(c *execution.Config){
		"worker":    func(c *execution.Config) { c.Worker = "" },
		"executors": func(c *execution.Config) { c.Executors = -1 },
		"runs dir":  func(c *execution.Config) { c.RunsDir = "runs" },
		"work dir":  func(c *execution.Config) { c.WorkDir = "play" },
		"log cap":   func(c *execution.Config) { c.LogCap = -1 },
		"drain":     func(c *execution.Config) { c.DrainTimeout = -1 },
		"queue":     func(c *execution.Config) { c.Queues = []string{""} },
	} {
		c := good
		breakSetting(&c)
		if err := c.Validate(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
