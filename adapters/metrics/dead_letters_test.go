package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/metrics"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

type letters struct {
	system.DeadLetterStore
	total int
	err   error
}

func (l letters) ListDeadLetters(context.Context, page.Window) ([]system.DeadLetter, int, error) {
	return nil, l.total, l.err
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	want(t, scrape(t, metrics.NewDeadLetters(letters{})), `writ_dead_letters 0`)
	want(t, scrape(t, metrics.NewDeadLetters(letters{total: 1234})), `writ_dead_letters 1234`)
	if text := scrape(t, metrics.NewDeadLetters(letters{err: errors.New("gone")})); strings.Contains(text,
		"writ_dead_letters ") {
		t.Error("a store that fails is told as a number")
	}
}
