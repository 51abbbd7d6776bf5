package send

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
)

func TestSanitize(t *testing.T) {
	t.Parallel()
	if err := sanitize(nil, "x"); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New(`Post "https://u:p@hooks.example:8443/T0P?a=S3CRET#x": EOF`),
			`Post "https://hooks.example:8443/***": EOF`},
		{errors.New("two: http://a.example and smtp://b.example/x."), "two: http://a.example/*** and smtp://b.example/***"},
		{errors.New("the key S3CRETKEY is wrong"), "the key *** is wrong"},
		{errors.New("a b\tc\r\nd\x00e\u2028f\xff"), "a b c d e f\uFFFD"},
		{errors.New("  "), "it failed without a reason"},
		{fmt.Errorf("ask: %w", context.DeadlineExceeded), "it took too long"},
		{(&fault.Error{Kind: fault.Invalid, Message: "said"}).Because(errors.New("S3CRET cause")), "said"},
		{errors.New(strings.Repeat("ä", 5000)), strings.Repeat("ä", maxReason-1) + "…"},
	} {
		err := sanitize(c.err, "S3CRETKEY", "", "a")
		var f *fault.Error
		if !errors.As(err, &f) || f.Message != c.want || f.Kind != fault.Unavailable || f.Cause != nil ||
			notify.Refused.Is(err) {
			t.Errorf("%q: %#v, want %q", c.err, f, c.want)
		}
	}
	err := sanitize(fmt.Errorf("again: %w", notify.Refused.New("https://a.example/S3CRET is refused")))
	if !notify.Refused.Is(err) || err.Error() != "https://a.example/*** is refused" {
		t.Error(err)
	}
}

// TestNothingHiddenIsPrinted puts an address and a key at any position of a text.
func TestNothingHiddenIsPrinted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		token := rapid.StringMatching(`[A-Za-z0-9_-]{8,40}`).Draw(t, "token") + "T0KEN"
		url := "https://hooks.example/" + token
		text := rapid.String().Draw(t, "before") + rapid.SampledFrom([]string{url, url + "?q=" + token, token}).
			Draw(t, "hidden") + rapid.String().Draw(t, "after")
		err := sanitize(errors.New(text), url, token)
		message := err.Error()
		if strings.Contains(message, token) || !utf8.ValidString(message) || utf8.RuneCountInString(message) > maxReason ||
			strings.ContainsAny(message, "\n\r\x00") {
			t.Fatalf("%q", message)
		}
	})
}
