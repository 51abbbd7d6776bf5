package httpapi

import (
	"log/slog"
	"net/http"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/tx"
)

// Group is the value group that contexts provide their Routes in.
const Group = `group:"httpapi.routes"`

// Module provides the handler and the router. It needs a Config, an identity.Authenticator and Authorizer, a
// logger, an id generator, a tx.Unit and an audit.Recorder for refusals, and the Routes of Group; an Observer is
// optional. Stopping ends live streams.
var Module = fx.Module("httpapi", fx.Provide(provide))

// Params of New.
type Params struct {
	fx.In

	Config        Config
	Authenticator identity.Authenticator
	Authorizer    identity.Authorizer
	Workers       execution.WorkerGate `optional:"true"`
	Log           *slog.Logger
	IDs           ids.Generator
	Observer      Observer `optional:"true"` // nil observes nothing
	// Unit and Recorder record refusals. Both are needed as soon as a route has an Action.
	Unit     tx.Unit
	Recorder audit.Recorder
	Routes   []Routes `group:"httpapi.routes"`
}

func provide(life fx.Lifecycle, p Params) (http.Handler, *Router, error) {
	res, err := New(p)
	if err != nil {
		return nil, nil, err
	}
	life.Append(fx.StopHook(res.Router.Close))
	return res.Handler, res.Router, nil
}
