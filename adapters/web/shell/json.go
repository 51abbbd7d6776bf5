package shell

import (
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// JSON answers a script of a page with a value. A handler returns its result as its error, and no page.
func (r *Request) JSON(v any) error {
	b, err := httpapi.Encode(v)
	if err != nil {
		return err //nolint:wrapcheck // an internal fault
	}
	h := r.Writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	r.Writer.WriteHeader(http.StatusOK)
	_, _ = r.Writer.Write(b)
	return served{}
}

// Refusal returns why the API refused a call, in one sentence.
func (r *Request) Refusal(a httpapi.Answer) string { return problemIn(a).Text }

// Answered is the result of a handler that has written its answer itself.
func Answered() error { return served{} }
