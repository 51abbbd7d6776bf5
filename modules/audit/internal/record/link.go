package record

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/tx"
)

// link locks the tip until the end of the unit, numbers the drafts of the unit and appends them.
func (r *Recorder) link(ctx context.Context, drafts []*draft) error {
	tip, now, err := r.lockTip(ctx)
	if err != nil {
		return err
	}
	c := chained{tip: tip, at: leaf.At(now), entries: make([]audit.Stored, 0, len(drafts)+1)}
	if tip.Size == 0 && drafts[0].leaf.Act != string(audit.ServiceGenesis) {
		if err := c.add(r.genesis()); err != nil {
			return err
		}
	}
	stored, err := r.entriesOf(ctx, drafts)
	if err != nil {
		return err
	}
	for _, d := range drafts {
		if d.leaf.Act == string(audit.ServiceGenesis) && c.tip.Size > 0 {
			continue // another server was first
		}
		if err := d.complete(stored, c.entries); err != nil {
			return err
		}
		if err := c.add(d); err != nil {
			return err
		}
		if d.collector != nil {
			made := audit.Receipt{Seq: c.tip.Size, Hash: c.tip.Hash}
			tx.OnCommit(ctx, func() { d.collector.Put(made, d.leaf.Run) })
		}
	}
	if len(c.entries) == 0 {
		return nil
	}
	if err := r.chain.Append(ctx, c.entries); err != nil {
		return unrecorded(err, "the audit trail could not be written")
	}
	return nil
}

// timeout returns the bound of the wait for the tip. Its holder is done within milliseconds, unless that server
// stopped in the middle. Then every waiter occupies a connection that readers need, so after one failed wait the next
// ones are shorter, until one of them gets the tip.
const (
	timeout   = 5 * time.Second
	impatient = 250 * time.Millisecond
)

// lockTip locks the tip until the unit ends.
func (r *Recorder) lockTip(ctx context.Context) (audit.Tip, time.Time, error) {
	wait := timeout
	if r.stuck.Load() {
		wait = impatient
	}
	bound, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tip, now, err := r.chain.Lock(bound)
	if err != nil {
		if bound.Err() != nil && ctx.Err() == nil {
			r.stuck.Store(true)
		}
		return tip, now, unrecorded(err, "the end of the audit trail could not be locked")
	}
	r.stuck.Store(false)
	return tip, now, nil
}

// genesis is the first entry of a chain that was not opened before.
func (r *Recorder) genesis() *draft {
	return &draft{leaf: leaf.Leaf{
		Act: string(audit.ServiceGenesis), ID: r.ids.New(ids.Audit), Out: leaf.Applied, Sub: subSystem,
	}}
}

// entriesOf reads the stored entries of the runs that end with a draft.
func (r *Recorder) entriesOf(ctx context.Context, drafts []*draft) (map[string][][32]byte, error) {
	var runs []string
	for _, d := range drafts {
		if d.final != nil {
			runs = append(runs, d.final.Object.ID)
		}
	}
	if len(runs) == 0 {
		return nil, nil
	}
	stored, err := r.chain.RunHashes(ctx, runs)
	if err != nil {
		return nil, unrecorded(err, "the entries of a run could not be read")
	}
	return stored, nil
}

// complete adds the document to the end of a run, since the run's earlier entries are known now: the stored ones, and
// those that are about to be.
func (d *draft) complete(stored map[string][][32]byte, earlier []audit.Stored) (err error) {
	if d.final == nil {
		return nil
	}
	run := d.final.Object.ID
	hashes := stored[run]
	for i := range earlier {
		if e := &earlier[i]; e.Run == run || e.Run != "" && e.Object == d.leaf.Obj {
			hashes = append(hashes, e.Hash)
		}
	}
	sum := sha256.New()
	for _, h := range hashes {
		sum.Write(h[:])
	}
	if d.detail, err = finalDetail(d.final.Detail, len(hashes), digest(sum.Sum(nil))); err != nil {
		return err
	}
	d.leaf.Det = detailHash(d.detail)
	return nil
}

// chained holds the entries that a unit appends.
type chained struct {
	tip     audit.Tip
	at      string
	entries []audit.Stored
}

// add puts a draft after the tip.
func (c *chained) add(d *draft) error {
	d.leaf.At, d.leaf.Prev, d.leaf.Seq = c.at, c.tip.Hash, c.tip.Size+1
	var space [1024]byte
	b, err := d.leaf.AppendTo(space[:0])
	if err != nil {
		return wrong("an entry of %s has no leaf: %v", d.leaf.Act, err)
	}
	hash := leaf.Hash(b)
	c.entries = append(c.entries, audit.Stored{
		Seq: d.leaf.Seq, Leaf: string(b), Hash: hash, ID: d.leaf.ID, At: d.leaf.At, Action: d.leaf.Act, Actor: d.leaf.Sub,
		Object: d.leaf.Obj, Run: d.leaf.Run, Disclosures: d.disclosures, Detail: d.detail,
	})
	c.tip = audit.Tip{Size: d.leaf.Seq, Hash: hash}
	return nil
}

// unrecorded keeps the cause, which decides whether the unit of work is retried.
func unrecorded(err error, what string) error {
	return audit.Unrecorded.New("%s, so that nothing was changed", what).Because(fmt.Errorf("link entries: %w", err))
}
