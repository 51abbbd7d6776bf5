package ai

import (
	"cmp"
	"errors"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/ai/internal/call"
	"github.com/writ-automation/writ/modules/ai/internal/collect"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret/mask"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the role of the context.
var Module = fx.Module("ai", fx.Provide(New))

// Config is the provider of the server. The zero value is none.
type Config struct {
	Provider extension.AIProvider
	Name     string // of the provider
	Model    string
	Key      extension.AIKey // of the provider, which no text of it may show
}

// Params are the dependencies of the context. The ports decide what the caller may read. Log may be nil.
type Params struct {
	fx.In

	Config      Config
	Runs        runs.Reader
	Insight     runs.Insight
	Facets      runs.FacetReader
	Fleet       estate.Fleet
	Drift       estate.Drift
	Inventories catalog.Inventories
	Projects    catalog.Projects
	// Submitter takes what a model proposes.
	Submitter runs.Submitter
	// Recorder records each call in a unit of work of its own.
	Recorder audit.Recorder
	Unit     tx.Unit
	Clock    clock.Clock
	Meter    ai.Meter `optional:"true"`
	Log      *slog.Logger
}

// Result holds the port of the context.
type Result struct {
	fx.Out

	Advisor ai.Advisor
}

// New creates the context.
func New(p Params) (Result, error) {
	if p.Recorder == nil {
		return Result{}, errors.New("ai: calls need a recorder")
	}
	return Result{Advisor: &advisor{
		caller: &call.Caller{Provider: p.Config.Provider, Name: p.Config.Name, Model: p.Config.Model,
			Recorder: p.Recorder, Unit: p.Unit, Clock: p.Clock,
			Meter: p.Meter, Secrets: mask.New([]string{p.Config.Key.Reveal()}),
			Log: cmp.Or(p.Log, slog.New(slog.DiscardHandler))},
		collect: &collect.Collector{Runs: p.Runs, Insight: p.Insight, Facets: p.Facets, Fleet: p.Fleet, Drift: p.Drift,
			Inventories: p.Inventories, Projects: p.Projects, Clock: p.Clock},
		submitter: p.Submitter, asked: newLimit(p.Clock),
	}}, nil
}
