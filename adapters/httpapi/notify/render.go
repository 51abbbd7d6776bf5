package notify

import (
	"encoding/json"
	"fmt"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// Renderer makes the record of a run as GET /v1/runs/{id} shows it, but for the receipt.
type Renderer struct{ clock clock.Clock }

var _ notify.Renderer = (*Renderer)(nil)

// NewRenderer makes a renderer.
func NewRenderer(c clock.Clock) *Renderer { return &Renderer{clock: c} }

// Record masks the addresses of targets and the values of all variables.
func (r *Renderer) Record(run *runs.Run) (json.RawMessage, error) {
	body := httpapi.RunRecord(run, r.clock.Now())
	for name := range body.ExtraVars {
		body.ExtraVars[name] = json.RawMessage(`"` + runs.Redacted + `"`)
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write the record of run %s: %w", run.ID, err)
	}
	return b, nil
}
