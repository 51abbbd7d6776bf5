package logging

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// terminal writes records for people: the time of day, the level and the message in columns, then the attributes.
type terminal struct {
	out   *terminalOutput
	attrs slog.Handler // writes the attributes of a record to out.line
}

// terminalOutput is shared by the handlers of one logger.
type terminalOutput struct {
	mu   sync.Mutex
	w    io.Writer
	line bytes.Buffer
}

func newTerminal(w io.Writer, opts slog.HandlerOptions) slog.Handler {
	out := &terminalOutput{w: w}
	opts.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		_, level := a.Value.Any().(slog.Level)
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey && level || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return scrubAttr(groups, a)
	}
	return &terminal{out: out, attrs: slog.NewTextHandler(&out.line, &opts)}
}

func (t *terminal) Enabled(ctx context.Context, l slog.Level) bool { return t.attrs.Enabled(ctx, l) }

func (t *terminal) WithAttrs(list []slog.Attr) slog.Handler {
	return &terminal{out: t.out, attrs: t.attrs.WithAttrs(list)}
}

func (t *terminal) WithGroup(name string) slog.Handler {
	return &terminal{out: t.out, attrs: t.attrs.WithGroup(name)}
}

func (t *terminal) Handle(ctx context.Context, r slog.Record) error {
	t.out.mu.Lock()
	defer t.out.mu.Unlock()
	t.out.line.Reset()
	if err := t.attrs.Handle(ctx, r); err != nil {
		return err
	}
	line := fmt.Sprintf("%s %-5s %s", r.Time.Format("15:04:05"), r.Level, printable(Scrub(r.Message)))
	if attrs := bytes.TrimSpace(t.out.line.Bytes()); len(attrs) > 0 {
		line += "  " + string(attrs)
	}
	_, err := io.WriteString(t.out.w, line+"\n")
	return err
}

// printable escapes a text that would leave its line.
func printable(text string) string {
	for _, r := range text {
		if r < ' ' || r == 0x7f {
			return fmt.Sprintf("%q", text)
		}
	}
	return text
}
