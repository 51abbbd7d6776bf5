package system_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/outbox"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlsystem "github.com/writ-automation/writ/adapters/sqlstore/system"
	module "github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// ledger records entries, or refuses them.
type ledger struct {
	mu      sync.Mutex
	refuses bool
	entries []audit.Entry
}

func (l *ledger) Record(_ context.Context, e audit.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuses {
		return errors.New("no entry can be made")
	}
	l.entries = append(l.entries, e)
	return nil
}

type letterBox struct {
	*module.DeadLetters
	store  *sqlsystem.Store
	ledger ledger
	db     *db.DB
}

func eachLetterBox(t *testing.T, fn func(t *testing.T, b *letterBox)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		c := clock.New()
		b := &letterBox{store: sqlsystem.New(d), db: d}
		w := outbox.NewWriter(d, d.Signals(), outbox.NewAudience(nil), c, ids.New(c))
		b.DeadLetters = module.NewDeadLetters(module.DeadLetterParams{
			Store: b.store, Unit: d, IDs: ids.New(c), Outbox: w, Recorder: &b.ledger,
		})
		fn(t, b)
	})
}

// waiting counts the messages in the outbox.
func (b *letterBox) waiting(t *testing.T) int {
	t.Helper()
	n, err := db.Count(t.Context(), b.db.Read(t.Context()),
		"SELECT count(*) FROM outbox WHERE subscriber = 'notify' AND id = 'msg_1' AND redelivered AND data = '{}'")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (b *letterBox) all(t *testing.T) []system.DeadLetter {
	t.Helper()
	list, _, err := b.ListDeadLetters(t.Context(), page.Window{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func failure(text string) events.Failure {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	return events.Failure{
		Message:    events.Message{ID: "msg_1", Name: "test.thing_happened", Version: 1, At: at, Data: []byte(`{}`)},
		Subscriber: "notify",
		Attempts:   4, Error: text, FirstAt: at, LastAt: at,
	}
}

func TestRetryAndDelete(t *testing.T) {
	eachLetterBox(t, func(t *testing.T, b *letterBox) {
		if err := b.Add(t.Context(), failure("no")); err != nil {
			t.Fatal(err)
		}
		l := b.all(t)[0]
		b.ledger.refuses = true
		if _, err := b.RetryDeadLetter(t.Context(), l.ID); err == nil || b.waiting(t) != 0 {
			t.Errorf("a retry without an entry: %v, %d messages", err, b.waiting(t))
		}
		if err := b.DeleteDeadLetter(t.Context(), l.ID, 0); err == nil || len(b.all(t)) != 1 {
			t.Errorf("a deletion without an entry: %v", err)
		}
		b.ledger.refuses = false
		got, err := b.RetryDeadLetter(t.Context(), l.ID)
		if diff := cmp.Diff(l, got); err != nil || diff != "" || b.waiting(t) != 1 || len(b.all(t)) != 1 {
			t.Errorf("a retry: %v, %d messages %s", err, b.waiting(t), diff)
		}
		if err := b.DeleteDeadLetter(t.Context(), l.ID, 4); err != nil || len(b.all(t)) != 0 {
			t.Errorf("a deletion: %v", err)
		}
		for _, err := range []error{b.DeleteDeadLetter(t.Context(), l.ID, 0), b.Resolve(t.Context(), "msg_1", "notify")} {
			if err != nil && !system.DeadLetterNotFound.Is(err) {
				t.Errorf("a letter that is gone: %v", err)
			}
		}
		var did []audit.Action
		for _, e := range b.ledger.entries {
			did = append(did, e.Action)
			if e.Object.ID != l.ID || e.Detail["subscriber"] != "notify" || e.Detail["attempts"] != 4 {
				t.Errorf("the entry is %+v", e)
			}
		}
		if diff := cmp.Diff([]audit.Action{audit.DeadLetterRetry, audit.DeadLetterDelete}, did); diff != "" {
			t.Error(diff)
		}
	})
}

func TestErrorsOfLettersAreBounded(t *testing.T) {
	eachLetterBox(t, func(t *testing.T, b *letterBox) {
		if err := b.Add(t.Context(), failure("\xff\x00"+strings.Repeat("ä", system.MaxDeadLetterError))); err != nil {
			t.Fatal(err)
		}
		if got := b.all(t)[0].Error; !strings.HasPrefix(got, "??ä") || len(got) > system.MaxDeadLetterError ||
			len(got) < system.MaxDeadLetterError-4 {
			t.Errorf("%d bytes are kept: %.20s", len(got), got)
		}
		found, err := module.NewDeadLetterCheck(b.store).Examine(t.Context())
		if err != nil || found.Examined != 1 || len(found.Findings) != 1 || len(found.Findings[0].Problem) > 1000 {
			t.Errorf("%+v %v", found, err)
		}
	})
}
