package httpapi

import (
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// ReasonBody is one part of an explanation of a run's state or of a refusal.
type ReasonBody struct {
	Code   string     `json:"code"`
	Text   string     `json:"text"`
	Object string     `json:"object,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	Next   string     `json:"next,omitempty"`
}

// ReasonRows makes the parts of an explanation.
func ReasonRows(list []runs.Reason) []ReasonBody {
	return Rows(list, func(r runs.Reason) ReasonBody {
		return ReasonBody{Code: r.Code, Text: r.Text, Object: r.Object, Since: When(r.Since), Next: r.Next}
	})
}
