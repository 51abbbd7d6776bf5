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

// link numbers the drafts of a unit behind the tip, which it holds from here to the unit's end, and appends them.
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
	for _, d := range drafts {
		if d.leaf.Act == string(audit.ServiceGenesis) && c.tip.Size > 0 {
			continue // another server was first
		}
		if err := r.complete(ctx, d, c.entries); err != nil {
			return err
		}
		if err := c.add(d); err != nil {
			return err
		}
		if d.collector != nil {
			made := audit.Receipt{Seq: c.tip.Size, Hash: c.tip.Hash}
			tx.OnCommit(ctx, func() { d.collector.Put(made) })
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

// timeout bounds the wait for the tip. Whoever has it is done within milliseconds, unless that server stopped in the
// middle. Then all others wait, and each that does keeps a connection from those who only read: so after one waited
// in vain the next ones do not wait as long, until one of them has the tip.
const (
	timeout   = 5 * time.Second
	impatient = 250 * time.Millisecond
)

// lockTip takes the tip until the unit ends.
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
		return tip, now, unrecorded(err, "the end of the audit trail could not be held")
	}
	r.stuck.Store(false)
	return tip, now, nil
}

// genesis is the first entry of a chain that nobody opened.
func (r *Recorder) genesis() *draft {
	return &draft{leaf: leaf.Leaf{
		Act: string(audit.ServiceGenesis), ID: r.ids.New(ids.Audit), Out: leaf.Applied, Sub: subSystem,
	}}
}

// complete gives the end of a run its document, now that the run's entries before it are known.
func (r *Recorder) complete(ctx context.Context, d *draft, earlier []audit.Stored) error {
	if d.final == nil {
		return nil
	}
	run := d.final.Object.ID
	hashes, err := r.chain.RunHashes(ctx, run)
	if err != nil {
		return unrecorded(err, "the entries of a run could not be read")
	}
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

// chained is the part of the chain that a unit adds.
type chained struct {
	tip     audit.Tip
	at      string
	entries []audit.Stored
}

// add puts a draft behind the tip.
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

// unrecorded keeps the cause, by which a unit of work knows whether to try again.
func unrecorded(err error, what string) error {
	return audit.Unrecorded.New("%s, so that nothing was changed", what).Because(fmt.Errorf("link entries: %w", err))
}
