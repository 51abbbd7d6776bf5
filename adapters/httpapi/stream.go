package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/writ-automation/writ/platform/clock"
)

// writeTime is how long one write to a slow reader may take, unless configured, before the reader is dropped.
const writeTime = 15 * time.Second

// streams counts live streams by account and ends them all when the server stops.
type streams struct {
	limit int
	mu    sync.Mutex
	held  map[string]int
	stop  chan struct{}
	once  sync.Once
}

func newStreams(limit int) *streams {
	return &streams{limit: limit, held: make(map[string]int), stop: make(chan struct{})}
}

func (s *streams) close() { s.once.Do(func() { close(s.stop) }) }

// take admits one more stream of the account; release frees its place.
func (s *streams) take(account string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[account] >= s.limit {
		f := TooManyStreams.New("this account already has %d live streams", s.limit)
		f.RetryAfter = writeTime
		return nil, f
	}
	s.held[account]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held[account]--; s.held[account] == 0 {
			delete(s.held, account)
		}
	}, nil
}

// Stream runs serve as a live stream of ctx's caller: within the account's cap and until the server stops. It returns a
// TooManyStreams fault over the cap.
func (r *Router) Stream(ctx context.Context, serve func(ctx context.Context) error) error {
	st := requestOf(ctx)
	release, err := r.streams.take(st.account)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-r.streams.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	err = serve(ctx)
	cancel()
	<-ended
	return err
}

// Sink writes an answer piece by piece. Each write has its own deadline, so that a reader that stops reading is
// disconnected and blocks nobody. The headers are sent with the first byte; until then the answer can still be an
// error.
type Sink struct {
	w       http.ResponseWriter
	ctl     *http.ResponseController
	timeout time.Duration
	status  int
	header  func(http.Header)
	started bool
	last    byte
	head    bool
}

// NewSink makes a sink for the answer of ctx. header sets the headers just before they are sent.
func (r *Router) NewSink(ctx huma.Context, status int, header func(http.Header)) *Sink {
	req, w := humago.Unwrap(ctx)
	return &Sink{
		w: w, ctl: http.NewResponseController(w), status: status, header: header,
		timeout: r.config.WriteTimeout,
		head:    req.Method == http.MethodHead,
	}
}

// Started reports whether the headers are gone.
func (s *Sink) Started() bool { return s.started }

// Head reports whether the client requested only the headers.
func (s *Sink) Head() bool { return s.head }

// Start sends the headers, once.
func (s *Sink) Start() {
	if s.started {
		return
	}
	s.started = true
	s.header(s.w.Header())
	s.w.WriteHeader(s.status)
}

func (s *Sink) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.Start()
	if err := s.ctl.SetWriteDeadline(clock.Deadline(s.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, fmt.Errorf("set write deadline: %w", err)
	}
	s.last = p[len(p)-1]
	return s.w.Write(p)
}

// Flush sends the buffered bytes to the client.
func (s *Sink) Flush() error {
	if err := s.ctl.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("flush answer: %w", err)
	}
	return nil
}

// Done lifts the write deadline for the next answer on the connection.
func (s *Sink) Done() { _ = s.ctl.SetWriteDeadline(time.Time{}) }

// Fail ends a failed answer: as an error answer if nothing was sent, by closing the connection if the client expects a
// length, and else as the last line of an export.
func (s *Sink) Fail(ctx context.Context, err error, sized bool) {
	p := problemOf(ctx, err)
	switch {
	case !s.started:
		p.write(s.w)
	case sized:
		panic(http.ErrAbortHandler)
	default:
		line, encodeErr := encode(map[string]any{"export_incomplete": true, "reason": p.Text})
		if encodeErr != nil {
			return
		}
		if s.last != 0 && s.last != '\n' {
			line = append([]byte{'\n'}, line...)
		}
		_, _ = s.Write(line)
	}
}

// Event sends a server-sent event with v as its data.
func (s *Sink) Event(name string, v any) error {
	data, err := Encode(v)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if _, err := fmt.Fprintf(s, "event: %s\ndata: %s\n\n", name, data); err != nil {
		return fmt.Errorf("send event: %w", err)
	}
	return s.Flush()
}

// FailEvent ends a failed stream of events: as an error answer if nothing was sent, and else with an event error that
// has the problem.
func (s *Sink) FailEvent(ctx context.Context, err error) {
	p := problemOf(ctx, err)
	if !s.started {
		p.write(s.w)
		return
	}
	_ = s.Event("error", p) // the client is gone
}

var _ io.Writer = (*Sink)(nil)
