package httpapi

import (
	"reflect"
	"testing"

	"github.com/writ-automation/writ/ports/actor"
)

func TestSchemaNamesCarryTheirFolder(t *testing.T) {
	t.Parallel()
	if got := schemaName(reflect.TypeFor[actor.Actor](), ""); got != "Actor" {
		t.Errorf("actor: %s", got)
	}
	if got := schemaName(reflect.TypeFor[Problem](), ""); got != "Problem" {
		t.Errorf("own type: %s", got)
	}
	if got := schemaName(reflect.TypeFor[[]actor.Type](), ""); got == "" {
		t.Error("no name")
	}
}
