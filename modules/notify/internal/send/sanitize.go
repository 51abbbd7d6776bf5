package send

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/plaintext"
	"github.com/writ-automation/writ/ports/secret"
)

const (
	maxReason = 300 // characters
	// shortest is the length of the shortest secret that is masked in a text. A shorter one would match parts of other
	// words.
	shortest = 4
)

func text(s string) secret.Text { return secret.Text(s) }

// address matches addresses, which may contain secrets before and after the host.
var address = lazyregexp.New(`([A-Za-z][A-Za-z0-9+.-]*://)(?:[^\s/"'<>]*@)?([^\s/?#"'<>@]*)[^\s"'<>]*`)

// sanitize returns the fault for an error of a channel or a notifier: one line of bounded length, without addresses
// after their hosts and without hidden texts. It returns nil for nil.
func sanitize(err error, hidden ...string) error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	message := err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		message = "it took too long"
	case errors.As(err, &f) && f.Message != "":
		message = f.Message
	}
	for _, h := range hidden {
		if len(h) >= shortest {
			message = strings.ReplaceAll(message, h, secret.Mask)
		}
	}
	message = plaintext.Line(address.ReplaceAllString(message, "${1}${2}/"+secret.Mask), maxReason)
	message = cmp.Or(message, "it failed without a reason")
	if notify.Refused.Is(err) {
		return notify.Refused.New("%s", message)
	}
	return &fault.Error{Kind: fault.Unavailable, Message: message}
}
