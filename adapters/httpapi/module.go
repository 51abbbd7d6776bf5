package httpapi

import (
	"context"
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

type moduleParams struct {
	fx.In
	Config        Config
	Authenticator identity.Authenticator
	Authorizer    identity.Authorizer
	Workers       execution.WorkerGate `optional:"true"`
	Log           *slog.Logger
	IDs           ids.Generator
	Observer      Observer `optional:"true"`
	Unit          tx.Unit
	Recorder      audit.Recorder
	Routes        []Routes `group:"httpapi.routes"`
}

func provide(life fx.Lifecycle, p moduleParams) (http.Handler, *Router, error) {
	res, err := New(Params{
		Config: p.Config, Authenticator: p.Authenticator, Authorizer: p.Authorizer, Workers: p.Workers,
		Log: p.Log, IDs: p.IDs, Observer: p.Observer, Unit: p.Unit, Recorder: p.Recorder, Routes: p.Routes,
	})
	if err != nil {
		return nil, nil, err
	}
	life.Append(fx.Hook{OnStop: func(context.Context) error {
		res.Router.Close()
		return nil
	}})
	return res.Handler, res.Router, nil
}
