package hook

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/modules/scheduling/internal/records"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/plaintext"
	"github.com/writ-automation/writ/ports/scheduling"
)

const (
	// refusalPause is the time between two refusals of a trigger that are logged. Who is refused has proved nothing, and
	// causes no more writes than this.
	refusalPause = 10 * time.Second
	maxRefusals  = 1000 // triggers that are known to be refused
	maxLine      = 200  // bytes of a text of a forge
)

// refusals knows when a refusal of each trigger was logged.
type refusals struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// logs reports whether a refusal of now is logged.
func (r *refusals) logs(triggerID string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.last[triggerID]; ok && now.Sub(last) < refusalPause {
		return false
	}
	if r.last == nil || len(r.last) >= maxRefusals {
		r.last = map[string]time.Time{}
	}
	r.last[triggerID] = now
	return true
}

// note logs a delivery. The answer does not depend on it.
func (h *Hooks) note(
	ctx context.Context, triggerID string, line *scheduling.LoggedDelivery, d scheduling.Delivered, failed error,
) {
	switch {
	case failed != nil:
		line.Reason = records.Reason(failed)
		if line.Verdict == scheduling.Refused && !h.refusals.logs(triggerID, h.clock.Now()) {
			return
		}
		if !scheduling.BadSignature.Is(failed) && !fault.Is(failed, fault.Invalid) {
			line.Verdict = scheduling.Failed // the server's fault
		}
	case line.Verdict == scheduling.Repeated:
	case d.Ignored != "":
		line.Verdict = scheduling.Ignored
	default:
		line.Verdict = scheduling.Fired
	}
	if failed == nil {
		line.RunID, line.Reason = d.RunID, d.Ignored
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	if err := h.deliveries.LogDelivery(ctx, triggerID, *line); err != nil {
		h.log.ErrorContext(ctx, "a delivery was not logged", "trigger", triggerID, "err", err)
	}
}

// oneLine returns the beginning of a text of a forge.
func oneLine(s string) string {
	return plaintext.Line(strings.ToValidUTF8(s[:min(len(s), maxLine)], ""), maxLine)
}
