package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
)

// Unanswered says in a few words why there is no answer. The text of the transport may hold more than that, such as
// the address with all that is in it, and is left out. What ended because of its context is told apart with
// errors.Is.
func Unanswered(err error) error {
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, ErrRefused):
		return errors.New("the address may not be asked")
	case errors.Is(err, ErrTooLarge):
		return errors.New("the answer is too large")
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("there was no answer in time: %w", context.DeadlineExceeded)
	case errors.As(err, &certificate):
		return errors.New("the server's certificate is not trusted")
	default:
		return errors.New("the server cannot be reached")
	}
}
