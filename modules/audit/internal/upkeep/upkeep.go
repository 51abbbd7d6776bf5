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

// Config holds the intervals of the work. Zero selects the default.
type Config struct {
	Every  time.Duration // between two reads of the chain; 5 s
	Anchor time.Duration // between two stored heads; 1 min
	Beat   time.Duration // between two beats of an install; 1 h
}

// Apart is the default interval of stored heads.
const Apart = time.Minute

// passTimeout bounds one pass. The first pass over a long chain without tiles has to read all of it; the next pass
// continues where it ended.
const passTimeout = 5 * time.Minute

// lastTimeout bounds the last head, so that with an unresponsive database other parts still have time to stop.
const lastTimeout = 5 * time.Second

// Params holds the dependencies of a Background.
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

// Background is the loop. It runs one goroutine between Start and Stop.
type Background struct {
	*background.Loop

	p   Params
	cfg Config

	// Only the loop uses the members below.
	full   int64           // number of full tiles written on the lowest level
	head   install.Head    // the newest signed head
	kept   int64           // size of the newest head that is stored as an anchor
	filed  int64           // size of the newest head in the head file
	beaten time.Time       // time of the install's last known beat
	failed map[string]bool // work that failed the last time and was logged
}

// New returns the loop. Stop returns after the last head is stored.
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

// pass does the work once. A failed part does not stop the others.
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

// report logs the first failure of a kind of work, and again only after a success.
func (b *Background) report(ctx context.Context, work string, err error) {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
	case err == nil && b.failed[work]:
		delete(b.failed, work)
		b.p.Log.InfoContext(ctx, "upkeep of the audit trail works again", "work", work)
	case err != nil && !b.failed[work]:
		b.failed[work] = true
		b.p.Log.ErrorContext(ctx, "upkeep of the audit trail failed; trying again", "work", work, "err", err)
	}
}

// sign signs the head and stores it, as an anchor at most once per interval.
func (b *Background) sign(ctx context.Context, apart time.Duration) {
	h, err := b.p.Install.Checkpoint(ctx)
	if audit.NoSigningKey.Is(err) && !b.p.Install.HasKey() {
		return // the start logged this; the key may still appear
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

// grow writes tiles when the chain has completed one.
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
