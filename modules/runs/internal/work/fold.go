package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"

	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/runs"
)

// manyHosts is the number of hosts above which a stored table is read before the unit.
const manyHosts = 1000

// folded is the part of a run's journal that was read before the unit that ends it.
type folded struct {
	ahead lifecycle.Ahead
	// log is the hash of the first logTo bytes of the output, which have no gap. Nil means no bytes.
	log   hash.Cloner
	logTo int64
	// seal is set if all output was stored before the unit. stored is then the state of the log at that time.
	seal   *seal
	stored runs.LogState
}

// seal holds the digest and the sizes of a run's output.
type seal struct {
	sha      string
	total    int64
	omitted  int64
	warnings []runs.Warning
}

// look folds the data of a long run: the output before the ending's rest, and the events if they are more than a unit
// should read. The ending of a short run contains all its data, so that nothing is read.
func (w *Worklist) look(ctx context.Context, l runs.Lease, e *runs.Ending) (*folded, error) {
	f := &folded{}
	var err error
	if f.ahead.Events, err = w.known.events(l); err != nil {
		return nil, err
	}
	to := e.LogBytes
	if len(e.Log.Data) > 0 {
		to = e.Log.Offset
	}
	if to > 0 && e.LogOmitted == 0 && e.LogBytes <= w.journal.cap {
		err = w.foldLog(ctx, l.RunID, to, f)
	}
	if err == nil && hasManyEvents(e) {
		err = w.machine.Fold(ctx, l.RunID, &f.ahead.Events, -1)
	}
	if err == nil && len(e.Hosts) == 0 && e.Touched > manyHosts {
		err = w.foldHosts(ctx, l.RunID, e, f)
	}
	if runs.RunNotFound.Is(err) {
		return f, nil // the unit reports it
	}
	return f, err
}

// hasManyEvents reports whether a run is likely to have stored many events before its ending.
func hasManyEvents(e *runs.Ending) bool {
	if len(e.Events) > 0 {
		return e.Events[0].Seq > lifecycle.FewEvents
	}
	return len(e.Hosts)+len(e.Tasks) > 0 || e.Touched > 0
}

// errGap ends a read at missing bytes.
var errGap = errors.New("a gap in the output")

// foldLog folds the output below an offset, up to the first gap.
func (w *Worklist) foldLog(ctx context.Context, id string, to int64, f *folded) error {
	h := sha256.New()
	err := w.journal.logs.ReadLog(ctx, id, 0, to, func(c runs.LogChunk) error {
		if c.Offset != f.logTo {
			return errGap
		}
		f.logTo += int64(len(c.Data))
		_, err := h.Write(c.Data)
		return err
	})
	if errors.Is(err, errGap) {
		err = nil
	}
	if c, ok := h.(hash.Cloner); ok && err == nil {
		f.log = c
	}
	return err
}

func (w *Worklist) foldHosts(ctx context.Context, id string, e *runs.Ending, f *folded) error {
	r, err := w.machine.Store.ByID(ctx, id)
	if err != nil {
		return err
	}
	r.HostsTouched, r.Hosts = e.Touched, e.Counts
	f.ahead.Revision = r.Revision
	f.ahead.Hosts, err = w.machine.HostsDigest(ctx, r, nil)
	return err
}

// foldAll stores the rest of the output, then folds all that is stored.
func (w *Worklist) foldAll(ctx context.Context, l runs.Lease, e *runs.Ending) (*folded, error) {
	if len(e.Log.Data) > 0 {
		if _, err := w.journal.AppendLog(ctx, l, e.Log); err != nil {
			return nil, err
		}
	}
	r, err := w.machine.Store.ByID(ctx, l.RunID)
	if err != nil {
		return nil, err
	}
	sha, err := w.journal.Digest(ctx, l.RunID, r.LogBytes)
	if err != nil {
		return nil, err
	}
	f := &folded{seal: &seal{sha: sha, total: max(e.LogBytes, r.LogBytes)},
		stored: runs.LogState{Next: r.LogBytes, Omitted: r.LogOmitted}}
	f.seal.omitted = r.LogOmitted + f.seal.total - r.LogBytes
	f.seal.warnings = lifecycle.TruncatedLog(r, f.seal.omitted)
	if err := w.machine.Fold(ctx, l.RunID, &f.ahead.Events, -1); err != nil {
		return nil, err
	}
	if len(e.Hosts) == 0 && e.Touched > manyHosts {
		err = w.foldHosts(ctx, l.RunID, e, f)
	}
	return f, err
}

// lastLog stores the rest of the output, unless that was done before, and returns the seal of the whole output. It
// returns ErrBehind if there is a gap or output that was not folded.
func (w *Worklist) lastLog(ctx context.Context, l runs.Lease, e *runs.Ending, f *folded) (*seal, error) {
	if f.seal == nil && e.LogBytes == 0 && len(e.Log.Data) == 0 {
		return &seal{sha: record.NoLog()}, nil
	}
	c := e.Log
	if f.seal != nil || len(c.Data) == 0 {
		c = runs.LogChunk{} // stores nothing and returns the state of the log
	}
	state, err := w.journal.logs.AppendLog(ctx, l, c)
	if err != nil {
		return nil, err
	}
	if f.seal != nil {
		if state != f.stored {
			return nil, lifecycle.ErrBehind
		}
		return f.seal, nil
	}
	if state.Omitted > 0 || state.Next > w.journal.cap || e.LogBytes > state.Next {
		return nil, lifecycle.ErrBehind
	}
	h, at, err := f.logSoFar()
	if err != nil {
		return nil, err
	}
	if n := int64(len(c.Data)); n > 0 && state.Stored == n && c.Offset == at {
		at += n
		if _, err := h.Write(c.Data); err != nil {
			return nil, err
		}
	}
	if at != state.Next {
		return nil, lifecycle.ErrBehind
	}
	return &seal{sha: hex.EncodeToString(h.Sum(nil)), total: state.Next}, nil
}

// logSoFar returns a copy of the hash of the folded output and its offset. It copies because a unit may run more than
// once.
func (f *folded) logSoFar() (hash.Hash, int64, error) {
	if f.log == nil {
		return sha256.New(), 0, nil
	}
	h, err := f.log.Clone()
	return h, f.logTo, err
}
