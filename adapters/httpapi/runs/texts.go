package runs

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the kept rows in bytes: of each of two generations, and of one row.
const (
	rowTextGeneration = 2 << 20
	maxRowText        = 8 << 10
)

// rowTexts keeps the encoded rows of ended runs: encoding a page of them takes longer than all else that it needs. A
// full generation replaces the older one, so that rows in use stay.
type rowTexts struct {
	mu         sync.Mutex
	young, old map[rowKey][]byte
	size       int // of the young generation
}

// rowKey names a row: the record at its revision, and that part of the record which readers see differently.
type rowKey struct {
	id          string
	revision    int64
	credentials string
}

func rowKeyOf(r *runs.Run) rowKey {
	return rowKey{r.ID, r.Revision, strings.Join(r.Spec.CredentialIDs, ",")}
}

func newRowTexts() *rowTexts { return &rowTexts{young: make(map[rowKey][]byte)} }

// of returns the encoded rows of a list.
func (t *rowTexts) of(list []*runs.Run, now time.Time) ([][]byte, error) {
	out := make([][]byte, len(list))
	t.find(list, out)
	for i, r := range list {
		if out[i] != nil {
			continue
		}
		text, err := httpapi.Encode(httpapi.RunRow(r, now))
		if err != nil {
			return nil, fmt.Errorf("show run %s: %w", r.ID, err)
		}
		out[i] = text
		t.keep(r, text)
	}
	return out, nil
}

// find fills in the rows that are kept.
func (t *rowTexts) find(list []*runs.Run, out [][]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, r := range list {
		if !over(r) {
			continue
		}
		k := rowKeyOf(r)
		if out[i] = t.young[k]; out[i] == nil {
			if out[i] = t.old[k]; out[i] != nil {
				t.store(k, out[i])
			}
		}
	}
}

// keep keeps the row of a run that has ended: only a new revision changes it.
func (t *rowTexts) keep(r *runs.Run, text []byte) {
	if !over(r) || len(text) > maxRowText {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.store(rowKeyOf(r), text)
}

// over reports whether time no longer changes the row of a run.
func over(r *runs.Run) bool { return r.Status.Terminal() && !r.EndedAt.IsZero() }

// perRow is about what a kept row takes beside its text.
const perRow = 200

func (t *rowTexts) store(k rowKey, text []byte) {
	if t.size += len(text) + perRow; t.size > rowTextGeneration {
		t.young, t.old, t.size = make(map[rowKey][]byte), t.young, len(text)+perRow
	}
	t.young[k] = text
}
