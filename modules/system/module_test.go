package system_test

import (
	"context"
	"log/slog"
	"testing"

	"go.uber.org/fx"

	module "github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/system"
)

// TestModule creates a doctor with the checks of the modules and one more, and without any.
func TestModule(t *testing.T) {
	t.Parallel()
	base := fx.Options(fx.NopLogger, module.Module, fx.Provide(func() system.Probe {
		return &probe{fn: func(context.Context) error { return nil }}
	}))
	stores := fx.Provide(
		func() (catalog.ProjectStore, catalog.InventoryStore, catalog.SourceStore, catalog.TemplateStore,
			catalog.References) {
			s := &fakeCatalog{}
			return s, s, s, s, s
		},
		func() (scheduling.ScheduleStore, scheduling.TriggerStore, scheduling.Owners, scheduling.Sealer, catalog.Launcher) {
			c := &clockwork{}
			return c, c, c, c, c
		},
		func() (clock.Clock, identity.AccountStore) { return stopped{}, accounts{} },
		func() (system.LicenseSource, *slog.Logger) { return system.LicenseSource{}, nil },
		fx.Annotate(func() system.Check { return finds("disk", 3) }, fx.ResultTags(system.CheckGroup)),
	)
	for _, test := range []struct {
		more   fx.Option
		checks int
	}{{fx.Options(), 0}, {fx.Options(stores, module.Checks), 6}} {
		var d system.Doctor
		var h system.Health
		app := fx.New(base, test.more, fx.Populate(&d, &h))
		if err := app.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := d.Examine(t.Context())
		if err != nil || !r.OK || len(r.Checked) != test.checks || h.Ready(t.Context()) != nil {
			t.Errorf("%+v %v", r, err)
		}
		if err := app.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := d.Examine(t.Context()); !fault.Is(err, fault.Unavailable) {
			t.Errorf("after the end: %v", err)
		}
	}
}
