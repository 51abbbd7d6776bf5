package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
)

// Unanswered returns a short reason why there is no answer. It leaves out the text of the transport, which may contain
// the whole address. errors.Is finds context.Canceled and context.DeadlineExceeded.
func Unanswered(err error) error {
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, ErrRefused):
		return errors.New("the server may not connect to this address")
	case errors.Is(err, ErrTooLarge):
		return errors.New("the answer is too large")
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded): // of a connection
		return fmt.Errorf("there was no answer in time: %w", context.DeadlineExceeded)
	case errors.As(err, &certificate):
		return errors.New("the server's certificate is not trusted")
	default:
		return errors.New("the server cannot be reached")
	}
}
