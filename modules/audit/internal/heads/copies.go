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

// CopiesConfig holds the intervals of the work. Zero selects the default.
type CopiesConfig struct {
	Every time.Duration // between two reads of the newest head; 10 s
	Show  time.Duration // between two reports of all heads; 1 h
}

// passTimeout bounds one pass: the first comparison of a head with a long chain without tiles reads the whole chain.
const passTimeout = time.Minute

// The parts of the work. Each may fail independently.
const (
	showing = "show"
	saving  = "keep"
)

// CopiesParams holds the dependencies of Copies.
type CopiesParams struct {
	Heads  audit.Heads
	Store  audit.HeadStore
	Worker string // the name under which it shows heads
	Log    *slog.Logger
	Config CopiesConfig
}

// Copies is the loop. It runs one goroutine between Start and Stop.
type Copies struct {
	*background.Loop

	p   CopiesParams
	cfg CopiesConfig

	// Only the loop uses the members below.
	reported bool            // whether the last attempt showed the stored heads to the trail
	looks    int             // since all heads were shown
	held     string          // the newest stored head
	failed   map[string]bool // work that failed the last time and was logged
}

// NewCopies returns the loop; Start begins it.
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

// look shows the stored heads before it stores a new one, and shows them again once the interval is over.
func (h *Copies) look(ctx context.Context) error {
	if h.looks++; !h.reported || time.Duration(h.looks)*h.cfg.Every >= h.cfg.Show {
		h.looks = 0
		h.pass(ctx, showing, h.show)
	}
	h.pass(ctx, saving, h.save)
	return nil
}

// pass does one part of the work. It logs the first failure, and again only after a success.
func (h *Copies) pass(ctx context.Context, work string, do func(ctx context.Context) error) {
	bound, cancel := context.WithTimeout(ctx, passTimeout)
	err := do(bound)
	cancel()
	switch {
	case ctx.Err() != nil:
	case err == nil && h.failed[work]:
		delete(h.failed, work)
		h.p.Log.InfoContext(ctx, "the copies of the heads work again", "work", work)
	case err != nil && !h.failed[work]:
		h.failed[work] = true
		h.p.Log.WarnContext(ctx, "the copies of the heads failed; trying again", "work", work, "err", err)
	}
}

// show shows every stored head. An unreadable head does not keep the others from being shown.
func (h *Copies) show(ctx context.Context) error {
	notes, unread := h.p.Store.Notes()
	err := h.p.Heads.Show(ctx, h.p.Worker, notes)
	h.reported = err == nil || audit.ForeignHead.Is(err)
	return errors.Join(err, unread)
}

// save stores the newest head. Before that it shows the head that it replaces: if the chain does not satisfy the old
// head, or if that is unknown, the old head stays.
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
		// The trail returns no newest head while the chain does not satisfy a shown one.
		if note, err = h.p.Heads.Newest(ctx); err != nil || note == "" {
			return err
		}
	}
	if err := h.p.Store.Save(note); err != nil {
		return errors.Join(fmt.Errorf("store a head: %w", err), unread)
	}
	h.held = note
	return nil
}

// of returns the stored heads of the log of a note.
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
