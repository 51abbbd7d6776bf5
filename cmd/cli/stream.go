package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/runs"
)

// Limits of following a run.
const (
	maxFrame     = 16 << 20         // one server-sent event
	readTimeout  = 60 * time.Second // the server sends something every 15 s
	maxAttempts  = 30               // without a single event between them
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 5 * time.Second
	firstReason  = 500 * time.Millisecond // that a run waits before the reason is printed
	lastReason   = 10 * time.Second
)

// watcher receives the events of a run, in order and once.
type watcher interface {
	run(r record)
	event(e event)
	log(text string) error
	// lost is called once when the connection breaks, and with nil when it is restored.
	lost(err error)
	// waits is called with why a run waits or is held, when it has done so for a moment, and then with what is new. Of a
	// split that runs it is called with why its shards wait.
	waits(reasons []runs.Reason)
}

// follower follows one run over reconnects.
type follower struct {
	c         *client
	id        string
	to        watcher
	after     int64
	logOffset int64
	last      record
	received  bool // since the connection was made
	known     bool // ever
	broken    bool
	ended     bool

	mu sync.Mutex // over the watcher and the last record
}

// errBroken is a stream that ended before its run.
var errBroken = errors.New("the stream was interrupted")

// follow reports everything about a run to its watcher until the run has ended, and returns its last record. It
// reconnects after a broken connection or a restart of the server. It returns permanent errors, such as a bad token,
// and the error of a server that did not answer the first time.
func (c *client) follow(ctx context.Context, id string, to watcher) (record, error) {
	return (&follower{c: c, id: id, to: to}).follow(ctx)
}

func (f *follower) follow(ctx context.Context) (record, error) {
	explaining, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { f.explain(explaining) })
	defer wg.Wait()
	defer stop()
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		err := f.once(ctx)
		switch {
		case f.ended:
			err := f.refresh(ctx)
			return f.last, err
		case ctx.Err() != nil:
			return f.last, ctx.Err()
		case f.received:
			attempt, backoff, f.received = 1, firstBackoff, false
		}
		if !f.retryable(err) || attempt >= maxAttempts {
			return f.last, err
		}
		if !f.broken {
			f.broken = true
			f.tell(func() { f.to.lost(err) })
		}
		if !background.Wait(ctx, backoff) {
			return f.last, ctx.Err()
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// tell calls the watcher, one call at a time.
func (f *follower) tell(call func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	call()
}

// explain reports why the run waits. No stream tells that, so it asks, less and less often while nothing changes.
func (f *follower) explain(ctx context.Context) {
	var printed []runs.Reason
	for pause := firstReason; background.Wait(ctx, pause); {
		waits, shards := f.waiting()
		if !waits {
			printed, pause = nil, firstReason
			continue
		}
		var why struct {
			Reasons []runs.Reason `json:"reasons"`
		}
		pause = min(2*pause, lastReason)
		if f.c.call(ctx, http.MethodGet, runPath(f.id, "/why"), nil, &why) != nil {
			continue
		}
		fresh := slices.DeleteFunc(slices.Clone(why.Reasons), func(r runs.Reason) bool {
			return shards && r.Code == "waiting_for_children" ||
				slices.ContainsFunc(printed, func(t runs.Reason) bool { return sameReason(r, t, shards) })
		})
		printed = why.Reasons
		if waits, _ = f.waiting(); len(fresh) > 0 && waits {
			pause = firstReason
			f.tell(func() { f.to.waits(fresh) })
		}
	}
}

// sameReason reports whether a reason says nothing new. The numbers in the reasons of shards change with each shard
// that begins.
func sameReason(r, t runs.Reason, shards bool) bool {
	if shards {
		return r.Code == t.Code && r.Object == t.Object
	}
	return r.Text == t.Text && r.Next == t.Next
}

// waiting reports whether the run waits or is held, as far as it is known, or is a split that runs, whose shards may
// wait.
func (f *follower) waiting() (waits, shards bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	shards = f.last.Status == string(runs.Running) && f.last.Kind == string(runs.Split)
	return shards || f.last.Status == string(runs.Pending) || f.last.held(), shards
}

// retryable reports whether trying again may help.
func (f *follower) retryable(err error) bool {
	var api *apiError
	if errors.As(err, &api) {
		return api.Status >= 500 || api.Status == http.StatusTooManyRequests
	}
	return f.known
}

// refresh reads the record after the end, when the counts are complete. If the server is gone, the last reported record
// is used.
func (f *follower) refresh(ctx context.Context) error {
	var r record
	err := f.c.call(ctx, http.MethodGet, runPath(f.id, ""), nil, &r)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && f.last.ended() {
		return nil
	}
	f.last = r
	return err
}

// once opens the stream with a fresh ticket and reads it until it ends.
func (f *follower) once(ctx context.Context) error {
	var t struct {
		Ticket string `json:"ticket"`
	}
	if err := f.c.call(ctx, http.MethodPost, runPath(f.id, "/stream-ticket"), nil, &t); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(readTimeout, cancel)
	defer quiet.Stop()
	q := url.Values{"ticket": {t.Ticket}, "after": {strconv.FormatInt(f.after, 10)},
		"log_offset": {strconv.FormatInt(f.logOffset, 10)}}
	resp, err := (&client{base: f.c.base, http: f.c.http}).
		request(ctx, http.MethodGet, runPath(f.id, "/stream?"+q.Encode()), nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return f.read(resp.Body, func() { quiet.Reset(readTimeout) })
}

// read reads server-sent events until the run's end.
func (f *follower) read(body io.Reader, alive func()) error {
	sc := bufio.NewScanner(body)
	sc.Buffer(make([]byte, 0, 64<<10), maxFrame)
	var kind, data string
	for sc.Scan() {
		alive()
		line := sc.Text()
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && kind != "":
			if err := f.dispatch(kind, data); err != nil || f.ended {
				return err
			}
			kind, data = "", ""
		case name == "event":
			kind = value
		case name == "data":
			data = value
		}
	}
	return errors.Join(errBroken, sc.Err())
}

func (f *follower) dispatch(kind, data string) error {
	f.received, f.known = true, true
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		f.broken = false
		f.to.lost(nil)
	}
	var err error
	switch kind {
	case "run":
		if err = json.Unmarshal([]byte(data), &f.last); err == nil {
			f.to.run(f.last)
		}
	case "event":
		var e event
		if err = json.Unmarshal([]byte(data), &e); err == nil && e.Seq > f.after {
			f.after = e.Seq
			f.to.event(e)
		}
	case "log":
		var l struct {
			Offset int64  `json:"offset"`
			Text   string `json:"text"`
			Next   int64  `json:"next"`
		}
		if err = json.Unmarshal([]byte(data), &l); err == nil {
			f.logOffset = l.Next
			return f.to.log(l.Text)
		}
	case "end":
		f.ended = true
	}
	if err != nil {
		return fmt.Errorf("the stream has an unknown format: %w", err)
	}
	return nil
}
