package relayclient

import (
	"encoding/base64"
	"log/slog"
	"sync"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
)

// heads holds the signed heads of the audit trail that this worker sends and receives.
type heads struct {
	store audit.HeadStore // nil stores none
	log   *slog.Logger

	mu     sync.Mutex
	known  bool // notes were read from the store
	notes  []string
	warned bool   // a failed read of the store was logged
	last   string // the newest that was stored
}

// list returns the heads for a claim. A file that cannot be read does not hide the others; the next claim tries it
// again.
func (h *heads) list() []string {
	if h.store == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known {
		notes, err := h.store.Notes()
		if err != nil && !h.warned {
			h.log.Warn("read the signed heads that this worker keeps", "error", err)
		}
		h.notes, h.known, h.warned = notes[:min(len(notes), execution.RelayHeads)], err == nil, err != nil
	}
	return h.notes
}

// save stores the head from the header of an answer to a claim.
func (h *heads) save(header string) {
	if h.store == nil || header == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if header == h.last {
		return
	}
	note, err := base64.StdEncoding.DecodeString(header)
	if err == nil {
		err = h.store.Save(string(note))
	}
	if err != nil {
		h.log.Warn("keep the signed head that the server gave", "error", err)
		return
	}
	h.last, h.known = header, false
}
