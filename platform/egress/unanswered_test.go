package egress_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/writ-automation/writ/platform/egress"
)

// TestUnanswered: the error contains no text of the transport.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	for want, cause := range map[string]error{
		"the server may not connect to this address": egress.ErrRefused,
		"the answer is too large":                    egress.ErrTooLarge,
		"there was no answer in time":                context.DeadlineExceeded,
		"context canceled":                           context.Canceled,
		"the server's certificate is not trusted":    &tls.CertificateVerificationError{Err: errors.New("C4NARY")},
		"the server cannot be reached":               errors.New("dial C4NARY"),
	} {
		err := egress.Unanswered(fmt.Errorf("get https://user:C4NARY@host: %w", cause))
		if !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "C4NARY") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// A connection may notice the deadline of its context first.
	for _, cause := range []error{context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		if err := egress.Unanswered(cause); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: a deadline looks like another reason: %v", cause, err)
		}
	}
}
