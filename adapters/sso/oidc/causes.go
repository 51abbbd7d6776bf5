package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/plaintext"
)

// again is the delay after which a caller may retry a provider that did not answer.
const again = 5 * time.Second

// refused returns the fault of every rejected sign-in. Its message is the same for all causes.
func refused(format string, args ...any) error {
	return identity.BadSignIn.New("The sign-in was not accepted; start it again.").Because(fmt.Errorf(format, args...))
}

// unavailable returns the fault of a provider that does not answer, or answers with something else than the protocol.
func unavailable(format string, args ...any) error {
	f := fault.Wrap(fault.Unavailable, fmt.Errorf(format, args...),
		"The identity provider does not answer; try again later.")
	f.RetryAfter = again
	return f
}

// failed returns the unavailable fault for transport errors and the refused fault for all other errors.
func failed(what string, err error) error {
	if unanswered(err) {
		return unavailable("%s: %w", what, clip(err))
	}
	return refused("%s: %w", what, clip(err))
}

// unanswered reports whether an error is a transport error.
func unanswered(err error) bool {
	var transport *url.Error
	return errors.As(err, &transport) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// clipped is an error whose text is safe for a log: short, and with printable characters only.
type clipped struct {
	text  string
	cause error
}

const maxCause = 300

// clip truncates an error's text. From a transport error it also removes the address with its query.
func clip(err error) error {
	text := err.Error()
	var transport *url.Error
	if errors.As(err, &transport) {
		text = transport.Err.Error()
	}
	return &clipped{text: plaintext.Line(text, maxCause), cause: err}
}

func (c *clipped) Error() string { return c.text }
func (c *clipped) Unwrap() error { return c.cause }

// knownErrors are the codes of RFC 6749 and OpenID Connect. Other texts in an answer are untrusted and never logged.
func knownErrors() []string {
	return []string{
		"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
		"invalid_scope",
		"access_denied", "unsupported_response_type", "server_error", "temporarily_unavailable", "interaction_required",
		"login_required", "account_selection_required", "consent_required", "invalid_request_uri", "invalid_request_object",
		"request_not_supported", "request_uri_not_supported", "registration_not_supported",
	}
}

func errorCode(code string) string {
	if slices.Contains(knownErrors(), code) {
		return code
	}
	return "an error without a known code"
}

// exchangeError classifies the error of the token endpoint. Its body may contain the code and is never part of a text.
func exchangeError(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return failed("the code was not exchanged", err)
	}
	status := 0
	if answer.Response != nil {
		status = answer.Response.StatusCode
	}
	if status >= 500 {
		return unavailable("the token endpoint answered %d", status)
	}
	return refused("the token endpoint answered %d: %s", status, errorCode(answer.ErrorCode))
}
