package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Stores are the stores under test and the unit of work that they join.
type Stores struct {
	Unit        tx.Unit
	DeadLetters system.DeadLetterStore
}

// Each opens fresh stores for each configuration of the implementation, and calls fn in a sub-test.
type Each func(t *testing.T, fn func(t *testing.T, s Stores))

// Run tests an implementation against the contract.
func Run(t *testing.T, each Each) {
	t.Helper()
	txtest.RunCases(t, txtest.Cases[Stores]{
		"a letter is read as it was stored": stored,
		"failures count together":           together,
		"lists and pages":                   lists,
		"deleting":                          deletes,
		"resolving":                         resolves,
		"units of work":                     units,
	}, each, func(s Stores) Stores { return s })
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)

func letter(n int, subscriber string) system.DeadLetter {
	at := noon.Add(time.Duration(n) * time.Minute)
	return system.DeadLetter{
		ID: fmt.Sprintf("dlt_%026d%s", n, subscriber),
		Failure: events.Failure{
			Message: events.Message{
				ID: fmt.Sprintf("msg_%026d", n), Name: "test.thing_happened", Version: 3, At: noon,
				Data: json.RawMessage(fmt.Sprintf(`{"n": %d, "text": "<ä\\u0000>"}`, n)),
			},
			Subscriber: subscriber, Attempts: 4, Error: "no such thing: <ä>", FirstAt: at, LastAt: at.Add(time.Second),
		},
	}
}

// do runs fn in its own unit.
func do(t *testing.T, s Stores, fn func(ctx context.Context) error) {
	t.Helper()
	if err := s.Unit.Do(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, s Stores, list ...system.DeadLetter) {
	t.Helper()
	for _, l := range list {
		do(t, s, func(ctx context.Context) error { return s.DeadLetters.AddDeadLetter(ctx, l) })
	}
}

// all reads the letters and checks the total against them.
func all(t *testing.T, s Stores) []system.DeadLetter {
	t.Helper()
	list, total, err := s.DeadLetters.ListDeadLetters(t.Context(), page.Window{})
	if err != nil || total != len(list) {
		t.Fatalf("%d of %d letters, %v", len(list), total, err)
	}
	return list
}

func stored(t *testing.T, s Stores) {
	want := letter(1, "notify")
	add(t, s, want)
	got, err := s.DeadLetters.DeadLetterByID(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.DeadLetters.DeadLetterByID(t.Context(), "dlt_none"); !system.DeadLetterNotFound.Is(err) {
		t.Errorf("a letter that is not there: %v", err)
	}
}

func together(t *testing.T, s Stores) {
	want, again := letter(1, "notify"), letter(1, "notify")
	add(t, s, want, letter(1, "estate"), letter(2, "notify"))
	again.ID, again.Attempts, again.Error = "dlt_another", 3, "gone"
	again.FirstAt, again.LastAt = noon.Add(time.Hour), noon.Add(2*time.Hour)
	add(t, s, again)
	want.Attempts, want.Error, want.LastAt = 7, "gone", again.LastAt
	if diff := cmp.Diff([]system.DeadLetter{want, letter(2, "notify"), letter(1, "estate")}, all(t, s)); diff != "" {
		t.Error(diff)
	}
}

func lists(t *testing.T, s Stores) {
	if list := all(t, s); len(list) != 0 {
		t.Errorf("%d letters in an empty store", len(list))
	}
	var want []system.DeadLetter
	for n := range 5 {
		add(t, s, letter(n, "a"), letter(n, "b"))
		want = append([]system.DeadLetter{letter(n, "a"), letter(n, "b")}, want...)
	}
	for _, w := range []page.Window{{}, {Limit: 3}, {Offset: 3, Limit: 4}, {Offset: 9}, {Offset: 20}} {
		list, total, err := s.DeadLetters.ListDeadLetters(t.Context(), w)
		from := min(w.Offset, len(want))
		part := want[from:min(from+w.Rows(), len(want))]
		if err != nil || total != len(want) || len(list) != len(part) {
			t.Errorf("%+v: %d of %d, %v", w, len(list), total, err)
			continue
		}
		for i := range part {
			if diff := cmp.Diff(part[i], list[i]); diff != "" {
				t.Errorf("%+v: %s", w, diff)
			}
		}
	}
}

func deletes(t *testing.T, s Stores) {
	first, second := letter(1, "notify"), letter(2, "notify")
	add(t, s, first, second)
	for _, test := range []struct {
		id       string
		attempts int64
		want     fault.Code
	}{{first.ID, 3, system.RevisionChanged}, {first.ID, -1, system.RevisionChanged},
		{"dlt_none", 0, system.DeadLetterNotFound},
		{"dlt_none", 4, system.DeadLetterNotFound}} {
		err := s.Unit.Do(t.Context(), func(ctx context.Context) error {
			return s.DeadLetters.DeleteDeadLetter(ctx, test.id, test.attempts)
		})
		if !test.want.Is(err) {
			t.Errorf("delete %s at %d: %v", test.id, test.attempts, err)
		}
	}
	do(t, s, func(ctx context.Context) error { return s.DeadLetters.DeleteDeadLetter(ctx, first.ID, 4) })
	do(t, s, func(ctx context.Context) error { return s.DeadLetters.DeleteDeadLetter(ctx, second.ID, 0) })
	if list := all(t, s); len(list) != 0 {
		t.Errorf("%d letters are left", len(list))
	}
}

func resolves(t *testing.T, s Stores) {
	l, other := letter(1, "notify"), letter(1, "estate")
	add(t, s, l, other)
	for range 2 {
		do(t, s, func(ctx context.Context) error {
			return s.DeadLetters.ResolveDeadLetter(ctx, l.Message.ID, l.Subscriber)
		})
	}
	if diff := cmp.Diff([]system.DeadLetter{other}, all(t, s)); diff != "" {
		t.Error(diff)
	}
}

func units(t *testing.T, s Stores) {
	l := letter(1, "notify")
	if err := s.DeadLetters.AddDeadLetter(t.Context(), l); !fault.Is(err, fault.Internal) {
		t.Errorf("a letter outside of a unit: %v", err)
	}
	stop := errors.New("stop")
	err := s.Unit.Do(t.Context(), func(ctx context.Context) error {
		return errors.Join(s.DeadLetters.AddDeadLetter(ctx, l), stop)
	})
	if !errors.Is(err, stop) || len(all(t, s)) != 0 {
		t.Errorf("%v, and %d letters of a unit that failed", err, len(all(t, s)))
	}
}
