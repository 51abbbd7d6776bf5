package runs_test

import (
	"reflect"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

// TestTextsAreAll finds a text of an event that Texts leaves out: it would be neither masked nor bounded.
func TestTextsAreAll(t *testing.T) {
	t.Parallel()
	e := runs.Event{Notified: []string{"a", "b"}}
	for _, p := range e.Texts() {
		*p = "masked"
	}
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch {
		case v.Field(i).Type() == reflect.TypeFor[string]() && v.Field(i).String() != "masked":
			t.Errorf("%s is left out", name)
		case name == "Notified" && (e.Notified[0] != "masked" || e.Notified[1] != "masked"):
			t.Error("Notified is left out")
		}
	}
}
