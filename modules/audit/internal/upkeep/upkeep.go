package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/tx"
)

// Config are the times of the work. Zero is the default.
type Config struct {
	Every  time.Duration // between two looks at the chain; 5 s
	Anchor time.Duration // between two heads that are kept; 1 min
	Beat   time.Duration // between two beats of an install; 1 h
}

// Apart is how long heads that are kept are apart by default.
const Apart = time.Minute

// passTimeout bounds one pass. A first one over a long chain without tiles has to read all of it, and the next one
// goes on where it ended.
const passTimeout = 5 * time.Minute

// lastTimeout bounds the last head: with a database that does not answer the others that stop have their time too.
const lastTimeout = 5 * time.Second

// Params is what a Background is made of.
type Params struct {
	Install  *install.Install
	Chain    audit.ChainStore
	Reader   audit.ChainReader
	Tree     *treelog.Tree
	Recorder audit.Recorder
	Unit     tx.Unit
	Clock    clock.Clock
	Log      *slog.Logger
	Config   Config
}

// Background is the loop. It owns one goroutine between Start and Stop.
type Background struct {
	*background.Loop

	p   Params
	cfg Config

	// What follows belongs to the loop.
	full   int64           // full tiles of the lowest level that were written
	head   install.Head    // the newest one that was signed
	kept   int64           // size of the newest head that is kept as an anchor
	filed  int64           // size of the newest head that is in the head file
	beaten time.Time       // when the install beat last, as far as is known
	failed map[string]bool // work that failed the last time, and that was told
}

// New makes the loop. Stop returns when the last head is stored, too.
func New(p Params) *Background {
	b := &Background{p: p, cfg: p.Config, failed: make(map[string]bool)}
	for _, d := range []struct {
		to    *time.Duration
		usual time.Duration
	}{{&b.cfg.Every, 5 * time.Second}, {&b.cfg.Anchor, Apart}, {&b.cfg.Beat, time.Hour}} {
		if *d.to <= 0 {
			*d.to = d.usual
		}
	}
	b.cfg.Every = min(b.cfg.Every, b.cfg.Beat)
	b.Loop = &background.Loop{
		Name: "audit trail", First: b.cfg.Every, Every: b.cfg.Every, Timeout: passTimeout, Pass: b.pass, Last: b.last,
	}
	return b
}

// pass does the work once. What fails keeps nothing else from being done.
func (b *Background) pass(ctx context.Context) error {
	b.report(ctx, "beat", b.beat(ctx))
	b.report(ctx, "tiles", b.grow(ctx))
	b.sign(ctx, b.cfg.Anchor)
	return nil
}

// last signs a last head and stores it in the head file and as an anchor.
func (b *Background) last() {
	ctx, cancel := context.WithTimeout(context.Background(), lastTimeout)
	defer cancel()
	b.sign(ctx, 0)
}

// report tells of work that failed, once until it succeeds again.
func (b *Background) report(ctx context.Context, work string, err error) {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
	case err == nil && b.failed[work]:
		delete(b.failed, work)
		b.p.Log.InfoContext(ctx, "upkeep of the audit trail works again", "work", work)
	case err != nil && !b.failed[work]:
		b.failed[work] = true
		b.p.Log.ErrorContext(ctx, "upkeep of the audit trail failed; it is tried again", "work", work, "err", err)
	}
}

// sign signs the head and puts it where heads are kept, anchors not sooner than apart one after the other.
func (b *Background) sign(ctx context.Context, apart time.Duration) {
	h, err := b.p.Install.Checkpoint(ctx)
	if audit.NoSigningKey.Is(err) && !b.p.Install.HasKey() {
		return // the start said so; the key may still come
	}
	b.report(ctx, "head", err)
	if err != nil {
		return
	}
	if h.Epoch != b.head.Epoch {
		b.kept, b.filed = -1, -1
	}
	b.head = h
	if b.filed != h.Size {
		if err = b.p.Install.File(h); err == nil {
			b.filed = h.Size
		}
		b.report(ctx, "head file", err)
	}
	if b.kept != h.Size {
		kept, err := b.p.Install.Retain(ctx, h, apart)
		if kept {
			b.kept = h.Size
		}
		b.report(ctx, "anchor", err)
	}
}

// grow writes tiles where the chain has completed one.
func (b *Background) grow(ctx context.Context) error {
	tip, err := b.p.Chain.Tip(ctx)
	if err != nil {
		return err
	}
	full := tip.Size / tileWidth
	if full == b.full {
		return nil
	}
	if err := b.p.Tree.Grow(ctx, b.p.Unit, tip.Size); err != nil {
		return err
	}
	b.full = full
	return nil
}
