package execution_test

import (
	"testing"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	ports "github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func TestTheModuleRunsForTheLifeOfTheApplication(t *testing.T) {
	t.Parallel()
	b := setup(t, echo)
	app := fx.New(fx.NopLogger, execution.Module, fx.Supply(b.config, b.tools), fx.Provide(
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
	if err := app.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	good := execution.Config{Worker: "w", RunsDir: "/runs"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(c *execution.Config){
		"worker":    func(c *execution.Config) { c.Worker = "" },
		"executors": func(c *execution.Config) { c.Executors = -1 },
		"runs dir":  func(c *execution.Config) { c.RunsDir = "runs" },
		"work dir":  func(c *execution.Config) { c.WorkDir = "play" },
		"log cap":   func(c *execution.Config) { c.LogCap = -1 },
		"drain":     func(c *execution.Config) { c.DrainTimeout = -1 },
		"queue":     func(c *execution.Config) { c.Queues = []string{""} },
	} {
		c := good
		spoil(&c)
		if err := c.Validate(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
