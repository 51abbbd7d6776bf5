package heads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
)

// CopiesConfig are the times of the work. Zero is the default.
type CopiesConfig struct {
	Every time.Duration // between two looks at the newest head; 10 s
	Show  time.Duration // between two times that all heads are shown; 1 h
}

// passTimeout bounds one pass: the first time that a head is held against a long chain without tiles, all of it is
// read.
const passTimeout = time.Minute

// The parts of the work, each of which may fail for itself.
const (
	showing = "show"
	saving  = "keep"
)

// CopiesParams is what Copies are made of.
type CopiesParams struct {
	Heads  audit.Heads
	Store  audit.HeadStore
	Worker string // as who it shows heads
	Log    *slog.Logger
	Config CopiesConfig
}

// Copies is the loop. It owns one goroutine between Start and Stop.
type Copies struct {
	*background.Loop

	p   CopiesParams
	cfg CopiesConfig

	// What follows belongs to the loop.
	reported bool            // whether what was kept was held against the trail at the last attempt
	looks    int             // since everything was shown
	held     string          // the newest head that was kept
	failed   map[string]bool // work that failed the last time, and that was told
}

// NewCopies makes the loop; Start begins it.
func NewCopies(p CopiesParams) *Copies {
	h := &Copies{p: p, cfg: p.Config, failed: make(map[string]bool)}
	if h.cfg.Every <= 0 {
		h.cfg.Every = 10 * time.Second
	}
	if h.cfg.Show <= 0 {
		h.cfg.Show = time.Hour
	}
	h.Loop = &background.Loop{Name: "copies of heads", Every: h.cfg.Every, Pass: h.look}
	return h
}

// look shows what is stored before it stores anything else, and again once the time has come.
func (h *Copies) look(ctx context.Context) error {
	if h.looks++; !h.reported || time.Duration(h.looks)*h.cfg.Every >= h.cfg.Show {
		h.looks = 0
		h.pass(ctx, showing, h.show)
	}
	h.pass(ctx, saving, h.save)
	return nil
}

// pass does one part of the work and tells of it where it fails, once until it succeeds again.
func (h *Copies) pass(ctx context.Context, work string, do func(ctx context.Context) error) {
	bound, cancel := context.WithTimeout(ctx, passTimeout)
	err := do(bound)
	cancel()
	switch {
	case ctx.Err() != nil:
	case err == nil && h.failed[work]:
		delete(h.failed, work)
		h.p.Log.InfoContext(ctx, "heads of the audit trail are held again", "work", work)
	case err != nil && !h.failed[work]:
		h.failed[work] = true
		h.p.Log.WarnContext(ctx, "heads of the audit trail cannot be held; it is tried again", "work", work, "err", err)
	}
}

// show shows every head that is kept. Those that cannot be read do not keep the others from it.
func (h *Copies) show(ctx context.Context) error {
	notes, unread := h.p.Store.Notes()
	err := h.p.Heads.Show(ctx, h.p.Worker, notes)
	h.reported = err == nil || audit.ForeignHead.Is(err)
	return errors.Join(err, unread)
}

// save keeps the newest head. The one whose place it takes is shown first: if the chain does not satisfy that one, or
// if nobody can tell, it stays.
func (h *Copies) save(ctx context.Context) error {
	note, err := h.p.Heads.Newest(ctx)
	if err != nil || note == "" || note == h.held {
		return err
	}
	before, unread := h.of(note)
	if len(before) > 0 {
		if err := h.p.Heads.Show(ctx, h.p.Worker, before); err != nil {
			return err
		}
		// Nothing is told any more where the chain does not satisfy what was shown.
		if note, err = h.p.Heads.Newest(ctx); err != nil || note == "" {
			return err
		}
	}
	if err := h.p.Store.Save(note); err != nil {
		return errors.Join(fmt.Errorf("keep a head: %w", err), unread)
	}
	h.held = note
	return nil
}

// of returns the heads that are kept of the log of a note.
func (h *Copies) of(note string) (out []string, err error) {
	wanted, err := checkpoint.Parse([]byte(note))
	if err != nil {
		return nil, err
	}
	kept, err := h.p.Store.Notes()
	for _, k := range kept {
		if parsed, err := checkpoint.Parse([]byte(k)); err == nil && parsed.Origin == wanted.Origin && k != note {
			out = append(out, k)
		}
	}
	return out, err
}
