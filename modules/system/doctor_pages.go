package system

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// The limits of a check's reads.
const (
	pageRows   = 200
	maxObjects = 10_000 // of each kind
)

// survey is one run of a check over stores: its findings, the number of examined objects, and the first error that
// affected only some of them.
type survey struct {
	notes
	examined int
	unjudged error
}

// result returns the result of the check.
func (s *survey) result(err error) (system.Examination, error) {
	return system.Examination{Examined: s.examined, Findings: s.list()}, errors.Join(err, s.unjudged)
}

// skip records that an object could not be examined. It returns the error if the check cannot continue.
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

// each calls a function for the rows of a list page by page, and reports if there are more than its limit. The noun is
// the plural of the listed objects.
func each[T any](
	ctx context.Context, s *survey, noun string, list func(page.Window) ([]T, int, error), visit func(T) error,
) error {
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
				Severity: system.Notice, Problem: fmt.Sprintf("only the first %d of %d %s were checked", offset, total, noun),
				Fix: "check the others by hand: this check reads no more",
			})
		}
	}
	return nil
}

// publicMessage returns the message of a fault for people; ok is true for the kinds of refusals that depend on the
// request.
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
