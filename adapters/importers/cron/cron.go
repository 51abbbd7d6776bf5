// Package cron reads crontabs: those of a user, and those of a system, which have a column with accounts. Each job
// becomes a template with a bash script and a schedule of it.
package cron

import (
	"bytes"
	"context"
	"path"
	"strings"

	"github.com/writ-automation/writ/adapters/importers/document"
	"github.com/writ-automation/writ/adapters/importers/draft"
	"github.com/writ-automation/writ/ports/importer"
)

// The limits of a crontab.
const (
	maxLines   = 10_000 // that are jobs, variables or neither
	maxVars    = 64 << 10
	maxScripts = 64 << 20 // bytes of all scripts, which repeat the variables
	maxCommand = 4 << 20  // bytes of a script that the server takes
)

// New returns the format.
func New() importer.Format { return format{} }

type format struct{}

func (format) Name() string { return "cron" }

func (format) Targeted() bool { return false }

func (format) Read(ctx context.Context, e importer.Export) (importer.Draft, error) {
	body, err := document.Text(e.Body)
	if err != nil {
		return importer.Draft{}, err
	}
	if i := bytes.IndexByte(body, 0); i >= 0 {
		return importer.Draft{}, malformed(1+bytes.Count(body[:i], []byte("\n")), "the line has a NUL character")
	}
	r := &reader{ctx: ctx, now: e.Now, file: path.Base(strings.ReplaceAll(e.File, `\`, "/"))}
	lines, err := split(string(body))
	if err != nil {
		return importer.Draft{}, err
	}
	if err := other(lines); err != nil {
		return importer.Draft{}, err
	}
	r.layout(e, lines)
	for i := range lines {
		if err := r.line(&lines[i]); err != nil {
			return importer.Draft{}, err
		}
	}
	r.leftover()
	return r.draft.Draft()
}

func malformed(line int, format string, args ...any) error {
	return importer.Malformed.New("line %d: "+format, append([]any{line}, args...)...)
}

// ref returns the place of a line.
func ref(n int) string { return "line " + itoa(n) }

// skipLine adds a line that is not written.
func (r *reader) skipLine(l *line, format string, args ...any) {
	r.draft.Skip("line", ref(l.number), ref(l.number), format, args...)
}

// warn adds a warning to an object, and Need makes it wait for somebody.
func warn(o *importer.Object, field, text string) { draft.Warn(o, field, "%s", text) }
