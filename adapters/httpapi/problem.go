package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// statusClientGone is the status in the log of a request whose client did not wait for the answer.
const statusClientGone = 499

// maxFieldErrors bounds how many fields at fault one answer names.
const maxFieldErrors = 20

// Problem is the body of every error: RFC 9457 with the sentence as `error`, a stable code as `reason`, the fields at
// fault, and the other members of the fault, flat beside them.
type Problem struct {
	Title     string       `json:"title" doc:"The status in words." example:"Conflict"`
	Status    int          `json:"status" doc:"The HTTP status." example:"409"`
	Detail    string       `json:"detail" doc:"One plain sentence."`
	Text      string       `json:"error" doc:"The same sentence."`
	Reason    string       `json:"reason" doc:"A stable code in snake_case." example:"run_not_cancelable"`
	Errors    []FieldError `json:"errors,omitempty" doc:"The fields at fault."`
	Reasons   []ReasonBody `json:"reasons,omitempty" doc:"Why it was refused, in the form of a run's why; for 403 and 409."`
	RequestID string       `json:"request_id,omitempty" doc:"Names the request in the server's log; given with a 500."`

	more       map[string]any
	recorded   bool // the audit trail has an entry of it
	retryAfter time.Duration
}

// FieldError names one field at fault by its path.
type FieldError struct {
	Location string `json:"location" example:"steps[1].name"`
	Message  string `json:"message" example:"unknown field"`
}

func (p *Problem) Error() string { return p.Text }

func (p *Problem) GetStatus() int { return p.Status }

func (p *Problem) ContentType(string) string { return "application/problem+json" }

// TransformSchema allows a problem to have additional members.
func (p *Problem) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.AdditionalProperties = true
	return s
}

// MarshalJSON flattens the fault's details into the body; they never replace a named member.
func (p *Problem) MarshalJSON() ([]byte, error) {
	type plain Problem
	if len(p.more) == 0 {
		return encode((*plain)(p))
	}
	b, err := encode((*plain)(p))
	if err != nil {
		return nil, err
	}
	all := maps.Clone(p.more)
	named := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &named); err != nil {
		return nil, err
	}
	for k, v := range named {
		all[k] = v
	}
	return encode(all)
}

// statusOf is the one map from a fault's kind to a status.
func statusOf(k fault.Kind) int {
	switch k {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden, fault.Unlicensed:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Stale:
		return http.StatusPreconditionFailed
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.RateLimited:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// plainProblem is a refusal of this adapter itself, for statuses without a kind of fault.
func plainProblem(status int, reason, text string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: text, Text: text, Reason: reason}
}

// problemOf turns an error into its body. The text of an error that is not a fault goes only to the log. Every refusal
// passes here, so this function also reports refusals to the trail.
func problemOf(ctx context.Context, err error) *Problem {
	p, cause := explain(ctx, err)
	if err := requestOf(ctx).record(ctx, p); err != nil {
		p, cause = explain(ctx, err)
	}
	note(ctx, p, cause)
	return p
}

// explain returns an error's body and the text for the log.
func explain(ctx context.Context, err error) (*Problem, error) {
	var p *Problem
	if errors.As(err, &p) {
		return p, nil
	}
	var f *fault.Error
	known := errors.As(err, &f)
	switch {
	case !known && ctx.Err() != nil && errors.Is(err, context.Canceled):
		p = plainProblem(statusClientGone, "client_gone", "the client did not wait for the answer")
	case !known && errors.Is(err, context.DeadlineExceeded):
		p = plainProblem(http.StatusServiceUnavailable, fault.Unavailable.String(), "the server took too long to answer")
	case !known || f.Kind == fault.Internal:
		p = plainProblem(http.StatusInternalServerError, fault.Internal.String(),
			"an internal error; see this request id in the server's log")
		p.RequestID = RequestID(ctx)
	default:
		status := statusOf(f.Kind)
		p = plainProblem(status, f.Reason(), f.Message)
		p.more, p.retryAfter, p.recorded = f.Detail, f.RetryAfter, f.Recorded
		if reasons := runs.ReasonsOf(f); reasons != nil {
			p.Reasons = ReasonRows(reasons)
		}
		for _, x := range f.Fields {
			p.Errors = append(p.Errors, FieldError(x))
		}
	}
	return p, err
}

// headers returns the headers of a status.
func (p *Problem) headers(set func(name, value string)) {
	switch p.Status {
	case http.StatusUnauthorized:
		set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		wait := max(p.retryAfter, time.Second)
		set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
}

// write answers with the problem outside of huma.
func (p *Problem) write(w http.ResponseWriter) {
	p.headers(w.Header().Set)
	w.Header().Set("Content-Type", "application/problem+json")
	b, err := encode(p)
	if err != nil {
		b = []byte(`{"error":"an internal error","reason":"internal"}`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(b)
}

// WriteJSON answers a request outside of huma with v: for Raw handlers.
func WriteJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	b, err := encode(v)
	if err != nil {
		WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// Explain returns the public part of err, sets its headers, and keeps its cause for the request's line in the log. It
// is for Raw handlers whose errors are pages.
func Explain(w http.ResponseWriter, r *http.Request, err error) *Problem {
	p := problemOf(r.Context(), err)
	p.headers(w.Header().Set)
	return p
}

// WriteError answers a request outside of huma with err's problem: for Raw handlers.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	problemOf(r.Context(), err).write(w)
}

var installOnce sync.Once

// installProblems puts this package's error body and strictness into huma, which keeps them in package variables. It
// happens once a process, before the first API exists.
func installProblems() {
	installOnce.Do(func() {
		huma.ValidateStrictCasing = true
		huma.DefaultArrayNullable = false
		huma.ErrorFormatter = plainNumbers
		huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
			return fromHuma(context.Background(), status, msg, errs)
		}
		huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
			p := fromHuma(ctx.Context(), status, msg, errs)
			p.headers(ctx.SetHeader)
			return p
		}
	})
}

// plainNumbers is fmt.Sprintf that writes the bounds of numbers without an exponent.
func plainNumbers(format string, args ...any) string {
	for i, a := range args {
		if n, ok := a.(float64); ok {
			args[i] = strconv.FormatFloat(n, 'f', -1, 64)
		}
	}
	return fmt.Sprintf(format, args...)
}

// fromHuma translates an error of huma. A 500 wraps the handler's own error; 422 is not used.
func fromHuma(ctx context.Context, status int, msg string, errs []error) *Problem {
	if status == http.StatusInternalServerError && len(errs) > 0 {
		return problemOf(ctx, errs[0])
	}
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	p := plainProblem(status, reasonOf(status), msg)
	for _, err := range errs {
		var f *fault.Error
		var d *huma.ErrorDetail
		switch {
		case errors.As(err, &f):
			return problemOf(ctx, f)
		case errors.As(err, &d):
			p.Errors = append(p.Errors, fieldOf(d))
		}
	}
	// huma walks maps, so the order of its findings differs from call to call.
	slices.SortStableFunc(p.Errors, func(a, b FieldError) int { return strings.Compare(a.Location, b.Location) })
	p.Errors = p.Errors[:min(len(p.Errors), maxFieldErrors)]
	if len(p.Errors) > 0 {
		p.Text = p.Errors[0].Location + ": " + p.Errors[0].Message
		p.Detail = p.Text
	}
	note(ctx, p, nil)
	return p
}

func reasonOf(status int) string {
	if status == http.StatusBadRequest {
		return fault.Invalid.String()
	}
	return strings.ToLower(strings.ReplaceAll(http.StatusText(status), " ", "_"))
}

// fieldOf drops huma's prefix and the value, which may be a secret. Only one that is none of the choices is shown, if
// it is plain; see fault.NoChoice.
func fieldOf(d *huma.ErrorDetail) FieldError {
	loc, msg := d.Location, d.Message
	for _, prefix := range []string{"body.", "query.", "path.", "header."} {
		loc = strings.TrimPrefix(loc, prefix)
	}
	if name, ok := strings.CutPrefix(msg, "expected required property "); ok {
		name, _, _ = strings.Cut(name, " ")
		msg = "is required"
		if loc == "body" || loc == "" {
			loc = name
		} else {
			loc += "." + name
		}
	}
	if loc == "body" {
		if at, rest, ok := strings.Cut(msg, ": "); ok {
			loc, msg = at, rest
		}
	}
	choices, none := strings.CutPrefix(msg, "expected value to be one of ")
	switch {
	case none:
		msg = fault.NoChoice(fmt.Sprint(d.Value), strings.Split(strings.Trim(choices, `"`), ", ")...)
	case msg == "unexpected property":
		msg = "unknown field"
	case strings.HasPrefix(msg, "invalid value: "):
		msg = strings.TrimPrefix(msg, "invalid value: ")
	}
	return FieldError{Location: loc, Message: msg}
}
