package relayclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
)

// Bounds on the copied parts of a refusal.
const (
	maxSentence = 1000
	maxFields   = 20
	maxRetry    = time.Hour
)

// problem is the body of a refusal.
type problem struct {
	Text   string `json:"error"`
	Reason string `json:"reason"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
}

// refusal makes the fault of an unsuccessful response. Its code is the reason from the server, so every declared fault
// is the same as on the server. A refusal of the caller, rather than of the content, is temporary: the token may be
// changing.
func (s *server) refusal(resp *http.Response, capability secret.Text) error {
	var p problem
	body, err := io.ReadAll(io.LimitReader(resp.Body, problemBytes+1))
	if err != nil || len(body) > problemBytes || media(resp) != "application/problem+json" ||
		json.Unmarshal(body, &p) != nil || p.Reason == "" {
		return s.foreign(resp)
	}
	clean := func(text string) string { return s.clean(text, capability) }
	out := &fault.Error{Kind: kindOf(resp.StatusCode, p.Reason), Code: clean(p.Reason), Message: clean(p.Text),
		RetryAfter: retryAfter(resp)}
	for _, f := range p.Errors[:min(len(p.Errors), maxFields)] {
		out.Fields = append(out.Fields, fault.Field{Location: clean(f.Location), Message: clean(f.Message)})
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		out.Message = "the server does not take the worker token: " + out.Message
	case out.Code == execution.RelayDisabled.Name:
		out.Message = "the server serves no workers over the relay: " + out.Message
	case out.Kind == fault.Unavailable:
		out.Message = fmt.Sprintf("the server does not answer the call now (HTTP %d): %s", resp.StatusCode, out.Message)
	}
	return out
}

// kindOf returns the kind of fault of a refusal. An unknown status is temporary, and so is an unknown path: a missing
// object has a reason of its own, and a server without the relay may be an older version for a while.
func kindOf(status int, reason string) fault.Kind {
	switch {
	case reason == execution.RelayDisabled.Name, reason == fault.NotFound.String():
		return fault.Unavailable
	case status == http.StatusForbidden &&
		(reason == execution.QueueDenied.Name || reason == execution.WorkerNameDenied.Name):
		return fault.Forbidden
	}
	switch status {
	case http.StatusBadRequest:
		return fault.Invalid
	case http.StatusNotFound:
		return fault.NotFound
	case http.StatusConflict:
		return fault.Conflict
	case http.StatusRequestEntityTooLarge:
		return fault.TooLarge
	default:
		return fault.Unavailable
	}
}

// foreign makes the fault of a response that does not come from a Writ server.
func (s *server) foreign(resp *http.Response) error {
	if resp.StatusCode/100 == 3 {
		return unusable(
			"what answered (HTTP %d) sends the worker elsewhere, where it does not go: name the server's own address",
			resp.StatusCode)
	}
	out := unusable("what answered (HTTP %d) is not the relay of a server", resp.StatusCode)
	out.RetryAfter = retryAfter(resp)
	return out
}

// unusable makes the fault of an unusable response.
func unusable(format string, args ...any) *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Message: fmt.Sprintf(format, args...)}
}

// unreachable makes the fault of an incomplete exchange.
func unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fault.Wrap(fault.Unavailable, err, "the server cannot be reached")
}

// clean prepares a server's text for a fault: short, and without the secrets that were sent to the server.
func (s *server) clean(text string, capability secret.Text) string {
	for _, proof := range []string{s.token.Reveal(), capability.Reveal()} {
		if proof != "" {
			text = strings.ReplaceAll(text, proof, secret.Mask)
		}
	}
	return strings.ToValidUTF8(text[:min(len(text), maxSentence)], "")
}

// retryAfter returns the delay before the next attempt, zero if the response has none in seconds.
func retryAfter(resp *http.Response) time.Duration {
	n, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(min(n, 1<<20))*time.Second, maxRetry)
}
