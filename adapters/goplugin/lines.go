package goplugin

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"

	"google.golang.org/grpc"

	"github.com/writ-automation/writ/ports/extension/plugin/wire"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secret/mask"
)

const (
	// lineBudget is how many lines of a plugin are logged between two refills.
	lineBudget = 50
	// maxLine is how many bytes of a line are kept until it is complete.
	maxLine = 64 << 10
)

// texts are the texts of a plugin as they may be shown: on one bounded line, without the values of its variables.
type texts struct{ mask *mask.Masker }

// newTexts hides the values of variables.
func newTexts(env map[string]secret.Text) texts {
	var values []string
	for _, v := range env {
		values = append(values, v.Reveal())
	}
	return texts{mask.New(values)}
}

// cutMark is at the end of a text that was cut.
const cutMark = "..."

// short returns a text as it may be shown. One that was cut may end within a value.
func (t texts) short(text string) string {
	if head, cut := strings.CutSuffix(text, cutMark); cut {
		text = t.mask.Prefix(head) + cutMark
	}
	return wire.Short(t.mask.String(text))
}

// lines logs what a plugin prints: a bounded number of bounded lines, and none once the plugin handles secrets.
type lines struct {
	texts
	log *slog.Logger

	mu      sync.Mutex
	used    int
	dropped int
	silent  bool
}

// output is one of the streams that a process prints. The lines of two are not mixed: a value that is cut in two would
// not be found.
type output struct {
	*lines
	begun []byte
}

// Write takes a part of the output.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if left := maxLine - len(o.begun); left > 0 {
			o.begun = append(o.begun, line[:min(len(line), left)]...)
		}
		if whole {
			o.line(string(o.begun))
			o.begun = o.begun[:0]
		}
		rest = after
	}
	return len(b), nil
}

// line logs a line that is complete.
func (l *lines) line(text string) {
	if len(text) == maxLine {
		text += cutMark
	}
	text = l.short(text)
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
	streams := [2]output{{lines: l}, {lines: l}} // os.Stdout and os.Stderr
	for err == nil {
		var part wire.Output
		if err = stream.RecvMsg(&part); err == nil {
			_, err = streams[part.GetChannel()&1].Write(part.GetData())
		}
	}
	if s.ctx.Err() == nil {
		l.log.DebugContext(context.WithoutCancel(s.ctx), "the output of a plugin ended", "error", err)
	}
}
