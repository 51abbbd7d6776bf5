package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/runs"
)

const (
	// heartbeat is the maximum silence of a stream.
	heartbeat = 15 * time.Second
	// askAgain is how often a stream checks the rights of its caller again. Together with the follower's own checks
	// of the rights to the run, it ends a stream at most 15 s after the right is lost.
	askAgain = 5 * time.Second
)

// reconnect tells browsers how long to wait before they reconnect.
const reconnect = "retry: 2000\n\n"

// TicketBody is a ticket for one stream.
type TicketBody struct {
	Ticket    string `json:"ticket"`
	ExpiresIn int    `json:"expires_in" doc:"Seconds."`
}

func (h *handlers) mint(ctx context.Context, in *IDInput) (*httpapi.Output[TicketBody], error) {
	return httpapi.Show(func(ticket string) TicketBody {
		return TicketBody{Ticket: ticket, ExpiresIn: int(runs.TicketTTL / time.Second)}
	})(h.Tickets.Mint(ctx, in.ID))
}

func (h *handlers) redeem(ctx context.Context, ticket, id string) (account, token string, err error) {
	who, err := h.Tickets.Redeem(ctx, ticket, id)
	return who.Account, who.Token, err
}

// LogPiece is a piece of the log in a stream.
type LogPiece struct {
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
	// Next is the offset after the piece, at which a reader resumes. It cannot be computed from Text, where invalid
	// bytes become longer characters.
	Next int64 `json:"next"`
}

func pieceOf(c runs.LogChunk) LogPiece {
	return LogPiece{Offset: c.Offset, Text: string(c.Data), Next: c.Offset + int64(len(c.Data))}
}

// StreamInput names a run and the position at which the stream starts.
type StreamInput struct {
	ID        string        `path:"id"`
	Ticket    string        `query:"ticket" doc:"A stream ticket, instead of the Authorization header."`
	After     httpapi.Count `query:"after" doc:"The sequence number of the last event seen."`
	LogOffset httpapi.Count `query:"log_offset" doc:"The number of bytes of the log that were seen."`
	LastID    string        `header:"Last-Event-ID" doc:"Sent by a browser when it reconnects; the later of it and after is used."`
}

func (in *StreamInput) after() int64 {
	seen := in.After.N
	if n, err := strconv.ParseInt(in.LastID, 10, 64); err == nil {
		seen = max(seen, n)
	}
	return seen
}

func (h *handlers) stream(_ context.Context, in *StreamInput) (*httpapi.StreamOutput, error) {
	return &httpapi.StreamOutput{Body: func(hctx huma.Context) {
		h.serveEvents(hctx, func(ctx context.Context, t *eventWriter) error {
			return h.Streamer.Follow(ctx, in.ID, in.after(), in.LogOffset.N, t.write)
		})
	}}, nil
}

// serveEvents answers with what follow writes, until that ends or the caller loses its right.
func (h *handlers) serveEvents(hctx huma.Context, follow func(context.Context, *eventWriter) error) {
	sink := h.router.NewSink(hctx, http.StatusOK, func(hd http.Header) {
		hd.Set("Content-Type", "text/event-stream; charset=utf-8")
		hd.Set("X-Accel-Buffering", "no")
	})
	defer sink.Done()
	ctx := hctx.Context()
	if sink.Head() {
		sink.Start()
		return
	}
	t := &eventWriter{sink: sink, h: h}
	err := h.router.Stream(ctx, func(ctx context.Context) error { return t.follow(ctx, follow) })
	if err != nil && !sink.Started() {
		sink.Fail(ctx, err, false)
	}
}

// eventWriter writes updates as server-sent events. The heartbeat and the follower share it under its lock.
type eventWriter struct {
	h     *handlers
	mu    sync.Mutex
	sink  *httpapi.Sink
	wrote bool // since the last heartbeat
}

// follow streams until there is nothing more, the client disconnects or loses its right.
func (t *eventWriter) follow(ctx context.Context, follow func(context.Context, *eventWriter) error) error {
	ctx, cancel := context.WithCancel(ctx)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		defer cancel()
		t.beat(ctx)
	}()
	err := follow(ctx, t)
	cancel()
	<-beating
	return err
}

// beat keeps the connection alive, and ends when the caller loses its right.
func (t *eventWriter) beat(ctx context.Context) {
	every := cmp.Or(t.h.Heartbeat, heartbeat)
	beat, ask := time.NewTicker(every), time.NewTicker(min(every, askAgain))
	defer beat.Stop()
	defer ask.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			err = t.comment()
		case <-ask.C:
			err = t.ask(ctx)
		}
		if err != nil {
			return
		}
	}
}

// ask checks that the caller still has its right. A check that times out fails.
func (*eventWriter) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askAgain)
	defer cancel()
	return httpapi.Recheck(ctx)
}

// comment writes a comment unless an event was written since the last call. Before the first event it writes nothing,
// since the answer may still become an error.
func (t *eventWriter) comment() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wrote || !t.sink.Started() {
		t.wrote = false
		return nil
	}
	return t.send(": beat\n\n", false)
}

// write writes an update. It does not flush if more follow at once.
func (t *eventWriter) write(u runs.Update) error {
	encode := func() (string, error) { return t.encoded(u) }
	var text string
	var err error
	if u.Text == nil {
		text, err = encode()
	} else {
		text, err = u.Text.Get(encode)
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = t.wrote || !u.Beat
	return t.send(text, u.More)
}

func (t *eventWriter) encoded(u runs.Update) (string, error) {
	switch {
	case u.Run != nil:
		return serverSentEvent("run", "", httpapi.RunRecord(u.Run, t.h.Clock.Now()))
	case u.Event != nil:
		return serverSentEvent("event", strconv.FormatInt(u.Event.Seq, 10), u.Event)
	case u.Log != nil:
		return serverSentEvent("log", "", pieceOf(*u.Log))
	case u.Matrix != nil:
		return serverSentEvent("matrix", "", matrixDelta(u.Matrix))
	case u.End:
		return serverSentEvent("end", "", struct{}{})
	}
	return ": beat\n\n", nil
}

// text writes an encoded event.
func (t *eventWriter) text(event string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = true
	return t.send(event, false)
}

// serverSentEvent encodes one event. JSON contains no line break, so that the data is one line.
func serverSentEvent(kind, id string, data any) (string, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", kind, err)
	}
	out := "event: " + kind + "\n"
	if id != "" {
		out += "id: " + id + "\n"
	}
	return out + "data: " + string(raw) + "\n\n", nil
}

func (t *eventWriter) send(s string, more bool) error {
	if !t.sink.Started() {
		s = reconnect + s
	}
	if _, err := t.sink.Write([]byte(s)); err != nil {
		return errors.Join(errReader, err)
	}
	if more {
		return nil
	}
	if err := t.sink.Flush(); err != nil {
		return errors.Join(errReader, err)
	}
	return nil
}

// errReader means that the reader is gone or too slow. The run does not wait for it.
var errReader = errors.New("the stream's reader has closed it")
