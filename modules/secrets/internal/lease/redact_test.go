package lease_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/secrets/internal/lease"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, input, want string }{
		{"plain", "permission denied", "permission denied"},
		{"the secret", "token s3cr3t! is not known", "token *** is not known"},
		{"in an address", "GET https://v.example/?t=" + url.QueryEscape("s3cr3t!"), "GET https://v.example/?t=***"},
		{"in base64", "Basic " + base64.StdEncoding.EncodeToString([]byte("s3cr3t!")), "Basic ***"},
		{"a secret within a longer one", "s3cr3t!-and-more", "***"},
		{"several lines", "a\r\n\tb\x00c\u2028d", "a b c d"},
		{"a line of a key", "cannot read MIIBVwIBADANBg", "cannot read ***"},
		{"a short secret", "the pin 7q is wrong", ""},
		{"too long", strings.Repeat("ä", 400), strings.Repeat("ä", 299) + "…"},
		{"endless", strings.Repeat("x", 1<<20), ""},
		{"no UTF-8", "a\xffb", "a\ufffdb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := lease.Redact(errors.New(tt.input), "s3cr3t!", "s3cr3t!-and-more", "", " ",
				"-----BEGIN\nMIIBVwIBADANBg\n", "7q")
			if got != tt.want {
				t.Errorf("said %q, want %q", got, tt.want)
			}
		})
	}
	if got := lease.Redact(nil, "x"); got != "" {
		t.Errorf("no error says %q", got)
	}
}

func TestRedactLeavesNoSecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[!-~]{1,30}`).Draw(t, "secret")
		around := rapid.StringMatching(`[ -~]{0,40}`).Draw(t, "around")
		forms := []string{value, url.QueryEscape(value), base64.StdEncoding.EncodeToString([]byte(value))}
		input := around + rapid.SampledFrom(forms).Draw(t, "form") + around
		got := lease.Redact(errors.New(input), value)
		if rest := strings.ReplaceAll(got, "***", ""); strings.Contains(rest, value) || !utf8.ValidString(got) {
			t.Errorf("%q tells %q as %q", input, value, got)
		}
	})
}

func TestTextsFindsAll(t *testing.T) {
	t.Parallel()
	got := lease.Texts(map[string]any{"a": []any{"x", map[string]any{"b": "y"}, true, nil, json.Number("12")}})
	if strings.Join(got, " ") != "x y 12" {
		t.Errorf("found %q", got)
	}
}
