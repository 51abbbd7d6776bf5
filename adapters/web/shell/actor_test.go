package shell

import (
	"testing"

	"github.com/writ-automation/writ/ports/actor"
)

// TestActorName: a worker is named as it was given, and one without a name is not erased.
func TestActorName(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]actor.Actor{
		"edge": {Type: actor.Worker, ID: "worker", Name: "relay/edge~0a1b2c3d"}, "A worker": {Type: actor.Worker},
		"ada": {Type: actor.User, Name: "ada"}, "The system": {Type: actor.System}, "": {Type: actor.User, ID: "usr_x"},
	} {
		if got := ActorName(a); got != want {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
}
