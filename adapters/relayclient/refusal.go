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

// What is taken over of a refusal.
const (
	maxSentence = 1000
	maxFields   = 20
	maxRetry    = time.Hour
)

// problem is the body of a server's refusals.
type problem struct {
	Text   string `json:"error"`
	Reason string `json:"reason"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
}

// refusal makes the fault of an answer that is no success. Its code is the reason that the server gives, so that
// every declared fault is what it was there. Refusals of whoever calls, rather than of what is said, do not last: the
// token may just be changing.
func (s *server) refusal(resp *http.Response, capability secret.Text) error {
	var p problem
	body, err := io.ReadAll(io.LimitReader(resp.Body, problemBytes+1))
	if err != nil || len(body) > problemBytes || media(resp) != "application/problem+json" || json.Unmarshal(body, &p) != nil || p.Reason == "" {
		return s.foreign(resp)
	}
	clean := func(text string) string { return s.clean(text, capability) }
	out := &fault.Error{Kind: kindOf(resp.StatusCode, p.Reason), Code: clean(p.Reason), Message: clean(p.Text), RetryAfter: retryAfter(resp)}
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

// kindOf says what sort of fault a refusal is. An unknown status is none that lasts, nor is that a path is not
// served: what is not found has a reason of its own, and a server without the relay may be an older one for a while.
func kindOf(status int, reason string) fault.Kind {
	switch {
	case reason == execution.RelayDisabled.Name, reason == fault.NotFound.String():
		return fault.Unavailable
	case status == http.StatusForbidden && reason == execution.QueueDenied.Name:
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

// foreign makes the fault of an answer that no server of ours gave.
func (s *server) foreign(resp *http.Response) error {
	if resp.StatusCode/100 == 3 {
		return unusable("what answered (HTTP %d) sends the worker elsewhere, where it does not go: name the server's own address", resp.StatusCode)
	}
	out := unusable("what answered (HTTP %d) is not the relay of a server", resp.StatusCode)
	out.RetryAfter = retryAfter(resp)
	return out
}

// unusable makes the fault of an answer that cannot be used.
func unusable(format string, args ...any) *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Message: fmt.Sprintf(format, args...)}
}

// unreachable makes the fault of an exchange that did not come to its end.
func unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fault.Wrap(fault.Unavailable, err, "the server cannot be reached")
}

// clean makes a text of a server fit for a fault: short, and without the proofs that were sent to it.
func (s *server) clean(text string, capability secret.Text) string {
	for _, proof := range []string{s.token.Reveal(), capability.Reveal()} {
		if proof != "" {
			text = strings.ReplaceAll(text, proof, secret.Mask)
		}
	}
	return strings.ToValidUTF8(text[:min(len(text), maxSentence)], "")
}

// retryAfter is when to try again, zero where the answer does not say it in seconds.
func retryAfter(resp *http.Response) time.Duration {
	n, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(min(n, 1<<20))*time.Second, maxRetry)
}
