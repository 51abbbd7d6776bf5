package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/metrics"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
)

type fleet struct {
	list []execution.Worker
	err  error
}

func (f fleet) Workers(context.Context, page.Window) ([]execution.Worker, int, error) {
	return f.list, len(f.list), f.err
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	text := scrape(t, metrics.NewWorkers(fleet{list: []execution.Worker{
		{Kind: execution.ServerWorker, Fresh: true}, {Kind: execution.ServerWorker, Fresh: true},
		{Kind: execution.ServerWorker}, {Kind: execution.RelayWorker, Fresh: true},
	}}))
	want(t, text, `writ_workers{fresh="true",kind="server"} 2`, `writ_workers{fresh="false",kind="server"} 1`,
		`writ_workers{fresh="true",kind="relay"} 1`)
	if text := scrape(t, metrics.NewWorkers(fleet{err: errors.New("gone")})); strings.Contains(text, "writ_workers{") {
		t.Error("the failure of a store is reported as numbers")
	}
}
