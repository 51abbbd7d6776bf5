package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// wrapBatch bounds the sealed texts in one unit, so that other writers wait only briefly.
	wrapBatch = 200
	// wrapRounds bounds the rounds over all texts: a text that a server seals during a round may still be under the old
	// key.
	wrapRounds = 5
)

// Rewrapping wraps all sealed texts under the current key.
type Rewrapping struct {
	Unit         tx.Unit
	Sealer       secrets.Rewrapper
	SealedStores []secrets.SealedStore
	Recorder     audit.Recorder
}

// Wrapped is the result of Rewrap.
type Wrapped struct {
	KeyID   string
	Wrapped map[string]int // number of wrapped texts by holder
	Total   map[string]int // all of them
	Lost    []string       // records that cannot be opened, left unchanged
}

// Rewrap seals every text under the current key, in batches and while others use them. It records the change before the
// first batch. Texts that cannot be opened are listed and left unchanged. It returns KeyLost if there is no key.
func (r *Rewrapping) Rewrap(ctx context.Context) (Wrapped, error) {
	out := Wrapped{KeyID: r.Sealer.KeyID(), Wrapped: map[string]int{}, Total: map[string]int{}}
	if out.KeyID == "" {
		return out, secrets.KeyLost.New("no encryption key is at hand")
	}
	err := r.Unit.Do(ctx, func(ctx context.Context) error {
		return r.Recorder.Record(ctx, audit.Entry{
			Action: audit.SecretsRewrap, Detail: map[string]any{"key_id": out.KeyID},
		})
	})
	if err != nil {
		return out, err
	}
	for _, h := range r.SealedStores {
		for round := range wrapRounds {
			n, err := r.pass(ctx, h, &out, round == 0)
			if err != nil {
				return out, fmt.Errorf("wrap %s anew: %w", h.Name(), err)
			}
			out.Wrapped[h.Name()] += n
			if n == 0 {
				break
			}
		}
	}
	return out, nil
}

// pass visits all texts of a holder once and returns how many it wrapped.
func (r *Rewrapping) pass(ctx context.Context, h secrets.SealedStore, out *Wrapped, first bool) (int, error) {
	total, after := 0, ""
	for {
		list, err := h.ListSealed(ctx, after, wrapBatch)
		if err != nil || len(list) == 0 {
			return total, err
		}
		after = list[len(list)-1].Key
		changed, fresh, err := r.wrap(ctx, list, out, first)
		if err != nil {
			return total, err
		}
		n := 0
		err = r.Unit.Do(ctx, func(ctx context.Context) error {
			n = 0
			for i, was := range changed {
				ok, err := h.Reseal(ctx, was, fresh[i])
				if err != nil {
					return err
				}
				if ok {
					n++
				}
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		total += n
		if first {
			out.Total[h.Name()] += len(list)
		}
	}
}

// wrap returns the elements of a list that have to change, with their new forms.
func (r *Rewrapping) wrap(
	ctx context.Context, list []secrets.Sealed, out *Wrapped, first bool,
) (was []secrets.Sealed, now [][]byte, err error) {
	for _, s := range list {
		text, err := r.Sealer.Rewrap(ctx, s.Record, s.Text)
		switch {
		case err == nil && bytes.Equal(text, s.Text):
		case err == nil:
			was, now = append(was, s), append(now, text)
		case ctx.Err() != nil:
			return nil, nil, errors.Join(err, ctx.Err())
		case first:
			// A lost or altered text must not keep the others under the old key.
			out.Lost = append(out.Lost, s.Record)
		}
	}
	return was, now, nil
}
