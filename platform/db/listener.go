package db

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	channel       = "writ"
	maxPayload    = 1000
	checkAfter    = 30 * time.Second // the connection is checked after so long without a notification
	firstBackOff  = 50 * time.Millisecond
	longestRetry  = 5 * time.Second
	checkDeadline = 5 * time.Second
)

// listener is this process's end of NOTIFY: one connection of its own, opened at the first watch.
type listener struct {
	owner *DB
	cfg   *pgx.ConnConfig
	self  string // identifies this process's notifications

	mu      sync.Mutex
	started bool
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
}

func newListener(d *DB, cfg *pgx.ConnConfig) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	return &listener{owner: d, cfg: cfg.Copy(), self: rand.Text(), ctx: ctx, cancel: cancel, done: make(chan struct{})}
}

// notify sends with the commit of the unit that ctx carries, else at once.
func (l *listener) notify(ctx context.Context, topic, payload string) error {
	if len(payload) > maxPayload {
		payload = ""
	}
	text := l.self + " " + topic + " " + payload
	if u := l.owner.unitOf(ctx); u != nil {
		if !u.isOpen() {
			return u.errClosed()
		}
		return tx.BeforeCommit(ctx, tx.Early, notified{l.owner}, text, l.notifyAll)
	}
	_, err := l.owner.reads.ExecContext(ctx, "SELECT pg_notify(?, ?)", channel, text)
	return Translate(err)
}

// notified is the key of the notifications for the end of a unit.
type notified struct{ owner *DB }

// notifyAll sends each notification once, with few statements.
func (l *listener) notifyAll(ctx context.Context, texts []string) error {
	slices.Sort(texts)
	for part := range slices.Chunk(slices.Compact(texts), rowsPerInsert) {
		args := []any{channel}
		for _, text := range part {
			args = append(args, text)
		}
		err := l.owner.AtEnd(ctx, Statement{
			"SELECT pg_notify(?, v.text) FROM (VALUES (?)" + strings.Repeat(", (?)", len(part)-1) + ") AS v (text)", args,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *listener) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started || l.ctx.Err() != nil {
		return
	}
	l.started = true
	go l.loop()
}

func (l *listener) close() error {
	l.mu.Lock()
	l.cancel()
	started := l.started
	l.mu.Unlock()
	if started {
		<-l.done
	}
	return nil
}

func (l *listener) loop() {
	defer close(l.done)
	wait := firstBackOff
	for l.ctx.Err() == nil {
		heard, err := l.listen()
		if l.ctx.Err() != nil {
			return
		}
		if heard {
			wait = firstBackOff
		}
		l.owner.log.Warn("the connection for notifications broke", "error", err, "retry_in", wait)
		l.owner.stats.reconnects.Add(1)
		l.owner.renew() // the idle connections are probably broken too
		background.Wait(l.ctx, wait)
		wait = min(2*wait, longestRetry)
	}
}

// listen opens a connection and delivers notifications until it breaks. heard reports whether it ever listened.
func (l *listener) listen() (heard bool, err error) {
	conn, err := pgx.ConnectConfig(l.ctx, l.cfg)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(l.ctx, "LISTEN "+channel); err != nil {
		return false, err
	}
	l.owner.renew()
	// Signals sent before the connection was open are lost, so every watcher checks for work.
	l.owner.signals.hub.wakeAll()
	for {
		n, err := waitFor(l.ctx, conn)
		if err != nil {
			return true, err
		}
		if n != nil {
			l.deliver(n.Payload)
		}
	}
}

// waitFor returns the next notification, or nil after a silence in which the connection still answers.
func waitFor(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	quiet, cancel := context.WithTimeout(ctx, checkAfter)
	defer cancel()
	n, err := conn.WaitForNotification(quiet)
	if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return n, err
	}
	check, stop := context.WithTimeout(ctx, checkDeadline)
	defer stop()
	return nil, conn.Ping(check)
}

func (l *listener) deliver(text string) {
	parts := strings.SplitN(text, " ", 3)
	if len(parts) != 3 || parts[0] == l.self {
		return
	}
	l.owner.signals.hub.wake(parts[1], parts[2])
}
