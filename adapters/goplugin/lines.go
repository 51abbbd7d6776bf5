package goplugin

import (
	"bytes"
	"context"
	"log/slog"
	"sync"

	"google.golang.org/grpc"

	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// lineBudget is how many lines of a plugin are logged between two refills.
const lineBudget = 50

// lines logs what a plugin prints: a bounded number of bounded lines, and none once the plugin handles secrets.
type lines struct {
	log *slog.Logger

	mu      sync.Mutex
	begun   []byte
	used    int
	dropped int
	silent  bool
}

// Write takes a part of the output.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if left := wire.MaxEnd - len(l.begun); left > 0 {
			l.begun = append(l.begun, line[:min(len(line), left)]...)
		}
		if whole {
			l.line()
		}
		rest = after
	}
	return len(b), nil
}

// line logs the line that is complete.
func (l *lines) line() {
	text := wire.Short(string(l.begun))
	l.begun = l.begun[:0]
	switch {
	case text == "":
	case l.silent || l.used == lineBudget:
		l.dropped++
	default:
		l.used++
		l.log.Info("a plugin prints", "line", text)
	}
}

// silence ends the logging of lines, which may hold secrets from now on.
func (l *lines) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = true
}

// refill allows further lines, and logs how many were dropped.
func (l *lines) refill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped > 0 {
		l.log.Warn("lines of a plugin are not logged: there are too many, or it handles secrets", "lines", l.dropped)
	}
	l.used, l.dropped = 0, 0
}

// follow takes what the plugin prints by the variables os.Stdout and os.Stderr, which go-plugin sends as a stream. A
// stream that nobody reads blocks the plugin.
func (l *lines) follow(s *session) {
	stream, err := s.conn.NewStream(s.ctx, &grpc.StreamDesc{ServerStreams: true}, "/plugin.GRPCStdio/StreamStdio")
	if err == nil {
		err = stream.SendMsg(&wire.Done{}) // an empty message
	}
	if err == nil {
		err = stream.CloseSend()
	}
	for err == nil {
		var part wire.Output
		if err = stream.RecvMsg(&part); err == nil {
			_, err = l.Write(part.GetData())
		}
	}
	if s.ctx.Err() == nil {
		l.log.DebugContext(context.WithoutCancel(s.ctx), "the output of a plugin ended", "error", err)
	}
}
