package executiontest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// TokenStores is a store of the tokens of workers with the unit of work that it joins.
type TokenStores struct {
	Unit  tx.Unit
	Store execution.WorkerTokenStore
}

// RunWorkerTokens tests a store of the tokens of workers against its contract. each gives every case empty stores.
func RunWorkerTokens(t *testing.T, each func(t *testing.T, fn func(t *testing.T, s TokenStores))) {
	t.Helper()
	txtest.RunCases(t, txtest.Cases[TokenStores]{
		"a token reads back whole":       tokenWhole,
		"a name has one token":           tokenNames,
		"an expired token gives way":     tokenExpired,
		"a deleted token is gone":        tokenDeleted,
		"tokens in order":                tokensInOrder,
		"a unit that fails keeps none":   tokenUndone,
		"one of many for a name is kept": tokensTogether,
	}, each, func(s TokenStores) TokenStores { return s })
}

var minted = time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)

func token(n int, name string) execution.WorkerToken {
	return execution.WorkerToken{ID: fmt.Sprintf("wkt_%d", n), Name: name, Queues: []string{"default"}, CreatedAt: minted,
		CreatedBy: "usr_1"}
}

func (s TokenStores) insert(ctx context.Context, tok execution.WorkerToken) error {
	return s.Unit.Do(ctx, func(ctx context.Context) error { return s.Store.InsertWorkerToken(ctx, tok, sum(tok.ID)) })
}

func (s TokenStores) drop(ctx context.Context, id string) error {
	return s.Unit.Do(ctx, func(ctx context.Context) error { return s.Store.DeleteWorkerToken(ctx, id) })
}

// holds requires a token under each of its keys.
func (s TokenStores) holds(t *testing.T, want execution.WorkerToken) {
	t.Helper()
	id, err := s.Store.WorkerTokenByID(t.Context(), want.ID)
	must(t, err)
	hash, err := s.Store.WorkerTokenByHash(t.Context(), sum(want.ID))
	must(t, err)
	name, err := s.Store.WorkerTokenByName(t.Context(), want.Name)
	must(t, err)
	for by, got := range map[string]execution.WorkerToken{"id": id, "hash": hash, "name": name} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by %s: %s", by, diff)
		}
	}
}

// lacks requires that a token is under none of these keys.
func (s TokenStores) lacks(t *testing.T, id, name string) {
	t.Helper()
	_, byID := s.Store.WorkerTokenByID(t.Context(), id)
	_, byHash := s.Store.WorkerTokenByHash(t.Context(), sum(id))
	_, byName := s.Store.WorkerTokenByName(t.Context(), name)
	for by, err := range map[string]error{"id": byID, "hash": byHash, "name": byName} {
		if !execution.WorkerTokenNotFound.Is(err) {
			t.Errorf("by %s: %v", by, err)
		}
	}
}

func tokenWhole(t *testing.T, s TokenStores) {
	s.lacks(t, "wkt_1", "edge")
	one, two := token(1, "edge"), token(2, "Edge")
	one.Queues, one.ExpiresAt = []string{"dmz/a 'ä'", "lab"}, minted.Add(time.Hour)
	two.CreatedBy = ""
	must(t, s.insert(t.Context(), one))
	must(t, s.insert(t.Context(), two))
	s.holds(t, one)
	s.holds(t, two)
	s.lacks(t, "wkt_%", "edg_")
	s.lacks(t, "", "")
}

func tokenNames(t *testing.T, s TokenStores) {
	one := token(1, "edge")
	one.ExpiresAt = minted.Add(time.Hour)
	must(t, s.insert(t.Context(), one))
	for _, other := range []execution.WorkerToken{token(2, "edge"), token(1, "other")} {
		if err := s.insert(t.Context(), other); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s of %s: %v", other.ID, other.Name, err)
		}
	}
	if err := s.insert(t.Context(), token(2, "edge")); !access.NameTaken.Is(err) {
		t.Errorf("%v", err)
	}
	s.holds(t, one)
}

func tokenExpired(t *testing.T, s TokenStores) {
	old, anew := token(1, "edge"), token(2, "edge")
	old.ExpiresAt = minted.Add(time.Second)
	must(t, s.insert(t.Context(), old))
	anew.CreatedAt = minted.Add(time.Second - time.Microsecond)
	if err := s.insert(t.Context(), anew); !access.NameTaken.Is(err) {
		t.Errorf("before its end: %v", err)
	}
	anew.CreatedAt = minted.Add(time.Second)
	must(t, s.insert(t.Context(), anew))
	s.holds(t, anew)
	if _, err := s.Store.WorkerTokenByID(t.Context(), old.ID); !execution.WorkerTokenNotFound.Is(err) {
		t.Errorf("the old one: %v", err)
	}
}

func tokenDeleted(t *testing.T, s TokenStores) {
	must(t, s.insert(t.Context(), token(1, "edge")))
	must(t, s.insert(t.Context(), token(2, "other")))
	must(t, s.drop(t.Context(), "wkt_1"))
	for _, id := range []string{"wkt_1", "wkt_none", "%"} {
		if err := s.drop(t.Context(), id); !execution.WorkerTokenNotFound.Is(err) {
			t.Errorf("%s: %v", id, err)
		}
	}
	s.lacks(t, "wkt_1", "edge")
	s.holds(t, token(2, "other"))
	must(t, s.insert(t.Context(), token(3, "edge")))
}

func tokensInOrder(t *testing.T, s TokenStores) {
	for _, i := range []int{3, 1, 2, 4} {
		tok := token(i, fmt.Sprint("w", i))
		tok.CreatedAt = minted.Add(time.Duration(i/2) * time.Second)
		must(t, s.insert(t.Context(), tok))
	}
	for _, c := range []struct {
		window page.Window
		want   []string
	}{
		{page.Window{Limit: 10}, []string{"wkt_1", "wkt_2", "wkt_3", "wkt_4"}},
		{page.Window{Limit: 2, Offset: 1}, []string{"wkt_2", "wkt_3"}}, {page.Window{Limit: 2, Offset: 4}, nil},
	} {
		list, total, err := s.Store.ListWorkerTokens(t.Context(), c.window)
		must(t, err)
		var got []string
		for _, tok := range list {
			got = append(got, tok.ID)
		}
		if total != 4 || !cmp.Equal(got, c.want) {
			t.Errorf("%+v: %q of %d", c.window, got, total)
		}
	}
}

func tokenUndone(t *testing.T, s TokenStores) {
	stop := errors.New("something else failed")
	err := s.Unit.Do(t.Context(), func(ctx context.Context) error {
		if err := s.Store.InsertWorkerToken(ctx, token(1, "edge"), sum("wkt_1")); err != nil {
			return err
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Error(err)
	}
	s.lacks(t, "wkt_1", "edge")
	if err := s.Store.InsertWorkerToken(t.Context(), token(1, "edge"), sum("wkt_1")); err == nil {
		t.Error("a token was stored outside of a unit")
	}
	must(t, s.insert(t.Context(), token(1, "edge")))
	if err := s.Store.DeleteWorkerToken(t.Context(), "wkt_1"); err == nil {
		t.Error("a token was deleted outside of a unit")
	}
}

func tokensTogether(t *testing.T, s TokenStores) {
	kept := txtest.NewEnv(s.Unit).Wins(t, 16, access.NameTaken, func(ctx context.Context, i int) error {
		return s.Store.InsertWorkerToken(ctx, token(i, "edge"), sum(fmt.Sprint("wkt_", i)))
	})
	txtest.Same(t, "kept", 1, kept)
}
