package system

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// Bounds of how a check reads a store.
const (
	pageRows   = 200
	maxObjects = 10_000 // of each kind
)

// survey is one look of a check over stores: what it found, how much it looked at, and the first thing that it could
// not judge although everything else could be.
type survey struct {
	notes
	examined int
	unjudged error
}

// result is what the check returns.
func (s *survey) result(err error) (system.Examination, error) {
	return system.Examination{Examined: s.examined, Findings: s.list()}, errors.Join(err, s.unjudged)
}

// skip notes that something could not be judged. It returns the error where there is no sense in going on.
func (s *survey) skip(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if k := fault.KindOf(err); k == fault.Unavailable || k == fault.RateLimited {
		return err
	}
	if s.unjudged == nil {
		s.unjudged = err
	}
	return nil
}

// each visits the rows of a list page by page, and notes where there are more than it visits. The noun is the plural
// of what is listed.
func each[T any](ctx context.Context, s *survey, noun string, list func(page.Window) ([]T, int, error), visit func(T) error) error {
	for offset := 0; offset < maxObjects; {
		rows, total, err := list(page.Window{Offset: offset, Limit: pageRows})
		if err != nil {
			return fmt.Errorf("list %s: %w", noun, err)
		}
		for _, row := range rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.examined++
			if err := visit(row); err != nil {
				return err
			}
		}
		offset += len(rows)
		if len(rows) == 0 || offset >= total {
			return nil
		}
		if offset >= maxObjects {
			s.add(system.Finding{
				Severity: system.Notice, Problem: fmt.Sprintf("only the first %d of %d %s were looked at", offset, total, noun),
				Fix: "look at the others by hand: this check reads no more",
			})
		}
	}
	return nil
}

// publicMessage returns what a fault says to people, and ok for the kinds that say that something asked for is not
// possible as it stands.
func publicMessage(err error) (text string, ok bool) {
	var f *fault.Error
	if !errors.As(err, &f) || f.Message == "" {
		return "", false
	}
	switch f.Kind {
	case fault.Invalid, fault.NotFound, fault.Forbidden, fault.Conflict, fault.Unlicensed, fault.TooLarge:
		return clip(f.Message), true
	default:
		return "", false
	}
}
