package audit_test

import (
	"os"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/ports/audit"
)

func TestModuleProvidesAVerifier(t *testing.T) {
	t.Parallel()
	var v audit.Verifier
	app := fxtest.New(t, auditmodule.Module, fx.Populate(&v))
	defer app.RequireStart().RequireStop()
	f, err := os.Open("internal/vectors/bundles/whole.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := v.VerifyBundle(t.Context(), f, audit.Trust{}, time.Now())
	if err != nil || !got.OK || got.Pinned || got.Count != 12 {
		t.Fatalf("%+v, %v", got, err)
	}
}
