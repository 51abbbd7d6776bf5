package watermill

import (
	"context"
	"log/slog"
)

// warnings passes on watermill's warnings only, since it logs its other lines for each message.
type warnings struct{ slog.Handler }

func quiet(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
