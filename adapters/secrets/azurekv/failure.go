package azurekv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/oauth2"

	"github.com/writ-automation/writ/platform/egress"
)

// failure explains an answer of a vault that is not a success.
func failure(status int) error {
	switch {
	case status == http.StatusUnauthorized:
		return errors.New("the vault does not accept tokens of the tenant (401)")
	case status == http.StatusForbidden:
		return errors.New("permission denied, or the secret is disabled (403)")
	case status == http.StatusNotFound:
		return errors.New("the secret was not found")
	case status == http.StatusTooManyRequests:
		return errors.New("there are too many requests to the vault (429)")
	case status >= 300 && status < 400:
		return fmt.Errorf("the vault sends elsewhere (%d), which is not followed", status)
	default:
		return fmt.Errorf("the vault answered %d", status)
	}
}

// refused explains why there is no token.
func refused(err error) error {
	var answer *oauth2.RetrieveError
	var transport *url.Error
	switch {
	case errors.As(err, &answer) && answer.Response != nil:
		return oauthError(answer.Response.StatusCode, answer.ErrorCode)
	case errors.As(err, &transport), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return egress.Unanswered(err)
	default:
		return errors.New("the answer holds no token")
	}
}

// oauthError repeats the codes of RFC 6749 and no other words.
func oauthError(status int, code string) error {
	known := []string{"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client",
		"unsupported_grant_type", "invalid_scope",
		"temporarily_unavailable"}
	switch {
	case code == "invalid_client":
		return errors.New("the client id or the client secret is refused (invalid_client)")
	case slices.Contains(known, code):
		return fmt.Errorf("the token endpoint answered %d (%s)", status, code)
	default:
		return fmt.Errorf("the token endpoint answered %d", status)
	}
}
