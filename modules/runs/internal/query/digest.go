package query

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/runs"
)

// Digests recomputes the digests of runs from the stores.
type Digests struct {
	machine *lifecycle.Machine
	logs    runs.LogStore
}

var _ runs.Digests = (*Digests)(nil)

// NewDigests returns digests over the machine's stores.
func NewDigests(m *lifecycle.Machine, l runs.LogStore) *Digests { return &Digests{machine: m, logs: l} }

func (q *Digests) Digest(ctx context.Context, id string) (*runs.RunDigest, error) {
	r, err := q.machine.Store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	var children []*runs.Run
	if r.Kind.Parent() {
		if children, err = q.machine.Store.Children(ctx, id); err != nil {
			return nil, err
		}
	}
	d := record.Digest(r)
	if d.Log != nil {
		if d.Log.SHA256, err = q.log(ctx, r); err != nil {
			return nil, err
		}
	}
	if d.Events, err = q.events(ctx, r); err != nil {
		return nil, err
	}
	if d.Hosts, err = q.machine.HostsDigest(ctx, r, children); err != nil {
		return nil, err
	}
	d.Inputs, err = record.InputsDigest(r)
	return d, err
}

// log returns the digest of the stored output. A run that ended before it began has none.
func (q *Digests) log(ctx context.Context, r *runs.Run) (string, error) {
	if r.LogBytes > 0 && r.LogSHA256 == "" && r.Status.Terminal() {
		return "", nil
	}
	h := sha256.New()
	err := q.logs.ReadLog(ctx, r.ID, 0, r.LogBytes, func(c runs.LogChunk) error {
		_, err := h.Write(c.Data)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// events folds the events that the record counts, up to the first gap. If none is stored, retention has dropped them.
func (q *Digests) events(ctx context.Context, r *runs.Run) (*runs.EventsDigest, error) {
	var e record.Events
	first, err := q.machine.Events.Events(ctx, r.ID, 0, 1)
	if err != nil || len(first) == 0 && r.EventCount > 0 {
		return nil, err
	}
	if err := q.machine.Fold(ctx, r.ID, &e, r.EventCount); err != nil && !errors.Is(err, record.ErrGap) {
		return nil, err
	}
	return e.Sum(), nil
}
