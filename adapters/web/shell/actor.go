package shell

import (
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/execution"
)

// ErasedText stands for the name of somebody whose private values were erased.
const ErasedText = "erased name"

// ActorName returns who acted, for the beginning of a sentence; empty for a name that was erased.
func ActorName(a actor.Actor) string {
	switch {
	case a.Type == actor.Worker && a.Name != "":
		return execution.ShownName(a.Name)
	case a.Name != "":
		return a.Name
	case a.Type == actor.System:
		return "The system"
	case a.Type == actor.Worker: // one without a name, such as that of a server
		return "A worker"
	case a.Type == actor.Anonymous:
		return "A visitor"
	}
	return ""
}
