package probes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/system"
)

// The allowed differences between two clocks.
const (
	skewWarns = 2 * time.Second
	skewFails = 30 * time.Second
)

// Clock compares the database's clock with the clock of this process.
type Clock struct {
	database func(context.Context) (time.Time, error)
	own      clock.Clock
}

var _ system.Check = (*Clock)(nil)

// NewClock returns the check for a function that returns the database's time. It returns an error if a dependency is
// missing.
func NewClock(database func(context.Context) (time.Time, error), own clock.Clock) (*Clock, error) {
	if database == nil || own == nil {
		return nil, errors.New("probes: the check of clocks lacks a clock")
	}
	return &Clock{database: database, own: own}, nil
}

func (*Clock) Name() string { return "clock" }

// The duration of the query does not count as a difference.
func (c *Clock) Examine(ctx context.Context) (system.Examination, error) {
	before := c.own.Now()
	there, err := c.database(ctx)
	if err != nil {
		return system.Examination{}, fmt.Errorf("read the database's clock: %w", err)
	}
	after := c.own.Now()
	out := system.Examination{Examined: 1}
	skew, way := time.Duration(0), "ahead of"
	switch {
	case there.After(after):
		skew = there.Sub(after)
	case there.Before(before):
		skew, way = before.Sub(there), "behind"
	}
	if skew <= skewWarns {
		return out, nil
	}
	f := system.Finding{
		Severity: system.Warning, Problem: fmt.Sprintf("the database's clock is %.1f seconds %s this server's",
			skew.Seconds(), way),
		Fix: "let both machines take their time from the same source, such as chrony",
	}
	if skew > skewFails {
		f.Severity = system.Error
	}
	out.Findings = append(out.Findings, f)
	return out, nil
}
