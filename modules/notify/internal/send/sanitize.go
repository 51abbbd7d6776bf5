package send

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secret"
)

const (
	maxReason = 300 // characters
	// shortest is how long a secret must be to be taken out of a text: a shorter one is in every other word.
	shortest = 4
)

func text(s string) secret.Text { return secret.Text(s) }

// address finds what may hold a secret behind its host, or before it.
var address = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)(?:[^\s/"'<>]*@)?([^\s/?#"'<>@]*)[^\s"'<>]*`)

// sanitize makes the fault of what a channel or a notifier said: one line without addresses behind their hosts,
// without what is hidden, and of bounded length. nil stays nil.
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
	message = oneLine(address.ReplaceAllString(message, "${1}${2}/"+secret.Mask))
	if message == "" {
		message = "it failed without a reason"
	}
	if notify.Refused.Is(err) {
		return notify.Refused.New("%s", message)
	}
	return &fault.Error{Kind: fault.Unavailable, Message: message}
}

// oneLine makes one line of bounded length of a text from outside.
func oneLine(s string) string {
	if len(s) > utf8.UTFMax*maxReason {
		s = s[:utf8.UTFMax*maxReason]
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if letters := []rune(s); len(letters) > maxReason {
		s = string(letters[:maxReason])
	}
	return strings.TrimSpace(s)
}
