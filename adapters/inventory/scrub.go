package inventory

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
)

// Limits of the search. Shorter texts or lines would also match in ordinary sentences.
const (
	minSecret = 3
	minLine   = 8
)

// formsOf returns the forms in which programs print secrets, without white space: whole, by line, and encoded as JSON,
// for URLs and as base64.
func formsOf(secrets []string) []string {
	var out []string
	add := func(text string, least int) {
		if text, _ = squeeze(text); len(text) >= least {
			out = append(out, text)
		}
	}
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		add(s, minSecret)
		for line := range strings.Lines(s) {
			add(line, minLine)
		}
		if b, err := json.Marshal(s); err == nil {
			add(string(b[1:len(b)-1]), minSecret)
		}
		add(strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, `"`, `\"`).Replace(s), minSecret)
		add(url.QueryEscape(s), minSecret)
		add(url.PathEscape(s), minSecret)
		add(base64.RawStdEncoding.EncodeToString([]byte(s)), minSecret)
		add(base64.RawURLEncoding.EncodeToString([]byte(s)), minSecret)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// squeeze returns a text without white space, and the original position of each byte.
func squeeze(text string) (string, []int) {
	out, at := make([]byte, 0, len(text)), make([]int, 0, len(text))
	for i := range len(text) {
		if strings.IndexByte(" \t\r\n\v\f", text[i]) < 0 {
			out, at = append(out, text[i]), append(at, i)
		}
	}
	return string(out), at
}

// scrub removes secrets from a text. It ignores white space inside of them, because Ansible wraps long lines anywhere.
func scrub(text string, secrets []string) string {
	packed, at := squeeze(text)
	hidden := make([]bool, len(text))
	found := false
	for _, form := range formsOf(secrets) {
		for from := 0; ; {
			i := strings.Index(packed[from:], form)
			if i < 0 {
				break
			}
			first, last := at[from+i], at[from+i+len(form)-1]
			for j := first; j <= last; j++ {
				hidden[j] = true
			}
			found, from = true, from+i+1
		}
	}
	if !found {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			b.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			b.WriteString(secret.Mask)
		}
	}
	return b.String()
}

// scrubbed removes secrets from an error and its cause, since the cause is logged.
func scrubbed(err error, secrets []string) error {
	var f *fault.Error
	if !errors.As(err, &f) || scrub(err.Error(), secrets) == err.Error() {
		return err
	}
	clean := *f
	clean.Message, clean.Cause = scrub(f.Message, secrets), nil
	return &clean
}
