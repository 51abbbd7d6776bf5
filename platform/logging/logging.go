package logging

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/secret"
)

// Config configures the log. Level is debug, info, warn or error; Format is text or json; empty means info and text.
// Terminal makes the format text shorter, for people who read along.
type Config struct {
	Level    string
	Format   string
	Terminal bool
}

// Levels and formats that a Config accepts.
var (
	levels = map[string]slog.Level{"": slog.LevelInfo, "debug": slog.LevelDebug, "info": slog.LevelInfo,
		"warn": slog.LevelWarn, "error": slog.LevelError}
	formats = map[string]bool{"": true, "text": true, "json": true}
)

// Validate returns an error that names the setting and its allowed values.
func (c Config) Validate() error {
	if _, ok := levels[c.Level]; !ok {
		return fmt.Errorf("log-level: %q is not one of debug, info, warn, error", c.Level)
	}
	if !formats[c.Format] {
		return fmt.Errorf("log-format: %q is not one of text, json", c.Format)
	}
	return nil
}

// New makes a logger that writes to w, one line each, without secrets.
func New(w io.Writer, c Config) (*slog.Logger, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	opts := &slog.HandlerOptions{Level: levels[c.Level], ReplaceAttr: scrubAttr}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	if c.Terminal {
		return slog.New(newTerminal(w, *opts)), nil
	}
	return slog.New(slog.NewTextHandler(w, opts)), nil
}

// secretName matches names of attributes with secret values. Ids and hashes of secrets are not secret.
var secretName = lazyregexp.New(
	`(?i)(^|[_.-])(password|passwd|passphrase|secret|token|authorization|cookie|credential|api_?key|private_?key|ticket|capability)s?$`)

var (
	bearer   = lazyregexp.New(`writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}`)
	header   = lazyregexp.New(`(?i)\b(bearer|basic)\s+[0-9A-Za-z+/_.~=-]{8,}`)
	userinfo = lazyregexp.New(`([a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@]*):[^/\s@]+@`)
	query    = lazyregexp.New(`(?i)([?&;](?:[a-z_-]*(?:token|ticket|password|secret|key))=)[^&;\s"']+`)
)

// Scrub cuts bearer tokens, authorization headers, passwords in URLs and secret query members out of a text.
func Scrub(s string) string {
	if strings.Contains(s, "writ_") {
		s = bearer.ReplaceAllString(s, "writ_"+secret.Mask)
	}
	if strings.Contains(s, "://") {
		s = userinfo.ReplaceAllString(s, "$1:"+secret.Mask+"@")
	}
	if strings.ContainsAny(s, "=") {
		s = query.ReplaceAllString(s, "${1}"+secret.Mask)
	}
	return header.ReplaceAllString(s, "$1 "+secret.Mask)
}

// scrubAttr is called for every attribute except groups, including the message.
func scrubAttr(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		if secretName.MatchString(a.Key) && a.Value.String() != "" {
			return slog.String(a.Key, secret.Mask)
		}
		return slog.String(a.Key, Scrub(a.Value.String()))
	case slog.KindAny:
		return scrubAny(a)
	default:
		return a
	}
}

func scrubAny(a slog.Attr) slog.Attr {
	if _, level := a.Value.Any().(slog.Level); level {
		return a
	}
	if secretName.MatchString(a.Key) {
		return slog.String(a.Key, secret.Mask)
	}
	if err, ok := a.Value.Any().(error); ok {
		return slog.String(a.Key, Scrub(err.Error()))
	}
	text := fmt.Sprintf("%+v", a.Value.Any())
	if clean := Scrub(text); clean != text {
		return slog.String(a.Key, clean)
	}
	return a
}
