package fleet

import (
	"context"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/tx"
)

// Bounds of a pass: a batch is one unit of work, so that no writer waits long, and a pass ends even if more is due.
const (
	trimBatch  = 200
	maxBatches = 500
)

// Retention deletes the results of hosts beyond the newest ones.
type Retention struct {
	Store estate.FleetStore
	Unit  tx.Unit
	Keep  int // of each host
}

// Pass deletes what is due.
func (r *Retention) Pass(ctx context.Context) error {
	for range maxBatches {
		n := 0
		err := r.Unit.Do(tx.Alone(ctx), func(ctx context.Context) (err error) {
			n, err = r.Store.Trim(ctx, r.Keep, trimBatch)
			return err
		})
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}
