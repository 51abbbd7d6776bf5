package gcpsm

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/oauth2"

	"github.com/writ-automation/writ/platform/egress"
)

// failure explains an answer of the service that is not a success.
func failure(status int) error {
	switch {
	case status == http.StatusBadRequest:
		return errors.New("the version is disabled or destroyed, or the name is not valid (400)")
	case status == http.StatusUnauthorized:
		return errors.New("the server's account is not known (401)")
	case status == http.StatusForbidden:
		return errors.New("permission denied")
	case status == http.StatusNotFound:
		return errors.New("the secret or its version was not found")
	case status == http.StatusTooManyRequests:
		return errors.New("there are too many requests (429)")
	case status >= 300 && status < 400:
		return fmt.Errorf("the service sends elsewhere (%d), which is not followed", status)
	default:
		return fmt.Errorf("the service answered %d", status)
	}
}

// refused explains why there is no token. It leaves out the texts of the library, which repeat the answer.
func refused(ctx context.Context, err, transport error) error {
	var answer *oauth2.RetrieveError
	switch {
	case ctx.Err() != nil:
		return egress.Unanswered(ctx.Err())
	case transport != nil:
		return egress.Unanswered(transport)
	case errors.As(err, &answer) && answer.Response != nil:
		return fmt.Errorf("the token endpoint answered %d", answer.Response.StatusCode)
	default:
		return errors.New("there is no token for the server's credentials")
	}
}
