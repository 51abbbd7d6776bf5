package estate

import (
	"github.com/writ-automation/writ/modules/estate/internal/facts"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/estate"
)

// newFacts makes what records facts, none on an install that only reads, and what answers questions about them.
func newFacts(p Params, parse func(string) (facts.Query, error)) (estate.Estate, background.Group, error) {
	rules, err := facts.New(p.Config.VolatileFacts)
	if err != nil {
		return nil, nil, err
	}
	var work background.Group
	if !p.Config.ReadOnly {
		recorder := &facts.Recorder{Rules: rules, Queue: p.Gathered, Store: p.Facts, Runs: p.Runs, Unit: p.Unit,
			Clock: p.Clock, Signals: p.Signals, Log: p.Log}
		work = background.Group{recorder.Loop()}
	}
	return &facts.Reader{Rules: rules, Store: p.Facts, Guard: p.Guard, Clock: p.Clock, Parse: parse}, work, nil
}
