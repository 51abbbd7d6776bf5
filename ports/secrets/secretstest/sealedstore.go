package secretstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// SealedStoreUnderTest is a store under test with functions that fill it. They share one empty database.
type SealedStoreUnderTest struct {
	Unit  tx.Unit
	Store secrets.SealedStore
	// Name is the expected name of the store.
	Name string
	// Put stores a record with a sealed text in the unit of ctx and returns its key. Later keys sort after earlier
	// ones.
	Put func(ctx context.Context, text []byte) (key string, err error)
	// Record returns the record name for which the text of a key is sealed.
	Record func(key string) string
	// State returns everything else about a record.
	State func(ctx context.Context, key string) (any, error)
	// Remove removes a record in the unit of ctx.
	Remove func(ctx context.Context, key string) error
}

// EachSealedStore opens a fresh store for each configuration of the implementation, and calls fn in a sub-test.
type EachSealedStore func(t *testing.T, fn func(t *testing.T, h SealedStoreUnderTest))

// RunSealedStore tests an implementation of secrets.SealedStore against the contract.
func RunSealedStore(t *testing.T, each EachSealedStore) {
	t.Helper()
	txtest.RunCases(t, txtest.Cases[SealedStoreUnderTest]{
		"what is listed":   listed,
		"what is replaced": replaced,
		"what is not":      notReplaced,
		"units":            resealUnits,
		"one text at once": resealedOnce,
	}, each, func(h SealedStoreUnderTest) SealedStoreUnderTest { return h })
}

func (h SealedStoreUnderTest) put(t *testing.T, text []byte) secrets.Sealed {
	t.Helper()
	var key string
	txtest.NewEnv(h.Unit).Must(t, func(ctx context.Context) (err error) {
		key, err = h.Put(ctx, text)
		return err
	})
	return secrets.Sealed{Key: key, Record: h.Record(key), Text: text}
}

func (h SealedStoreUnderTest) list(t *testing.T, after string, limit int) []secrets.Sealed {
	t.Helper()
	list, err := h.Store.ListSealed(t.Context(), after, limit)
	txtest.NoError(t, err)
	return list
}

// reseal replaces a text in a unit of its own.
func (h SealedStoreUnderTest) reseal(t *testing.T, was secrets.Sealed, text []byte) bool {
	t.Helper()
	var ok bool
	err := h.Unit.Do(t.Context(), func(ctx context.Context) (err error) {
		ok, err = h.Store.Reseal(ctx, was, text)
		return err
	})
	if err != nil {
		t.Errorf("reseal: %v", err)
	}
	return ok
}

func listed(t *testing.T, h SealedStoreUnderTest) {
	txtest.Same(t, "name", h.Name, h.Store.Name())
	txtest.Same(t, "at first", []secrets.Sealed{}, h.list(t, "", 10))
	var want []secrets.Sealed
	for i := range 7 {
		want = append(want, h.put(t, bytesOf(i, 40*i+1)))
	}
	for _, limit := range []int{1, 3, 7, 8, 1000} {
		var got []secrets.Sealed
		after := ""
		for range len(want) + 2 {
			list := h.list(t, after, limit)
			if len(list) > limit {
				t.Fatalf("%d are listed, at most %d were asked for", len(list), limit)
			}
			if len(list) == 0 {
				break
			}
			got, after = append(got, list...), list[len(list)-1].Key
		}
		txtest.Same(t, fmt.Sprintf("listed by %d", limit), want, got)
	}
	for i, x := range want {
		txtest.Same(t, "after "+x.Key, want[i+1:], h.list(t, x.Key, 10))
		txtest.Same(t, "behind "+x.Key, want[i+1:], h.list(t, x.Key+"\x01", 10))
	}
	for _, limit := range []int{0, -1} {
		txtest.Same(t, "nothing", []secrets.Sealed{}, h.list(t, "", limit))
	}
	txtest.Same(t, "after the last one", []secrets.Sealed{}, h.list(t, "\U0001F600'; --", 10))
	txtest.NewEnv(h.Unit).Must(t, func(ctx context.Context) error { return h.Remove(ctx, want[3].Key) })
	txtest.Same(t, "without one", slices.Delete(slices.Clone(want), 3, 4), h.list(t, "", 10))
}

func (h SealedStoreUnderTest) state(t *testing.T, key string) any {
	t.Helper()
	v, err := h.State(t.Context(), key)
	txtest.NoError(t, err)
	return v
}

// replaced checks that a rewrapped text is no change of the record.
func replaced(t *testing.T, h SealedStoreUnderTest) {
	first, second := h.put(t, bytesOf(1, 90)), h.put(t, bytesOf(1, 90))
	before := h.state(t, first.Key)
	for i, text := range [][]byte{bytesOf(2, 300), {0}, []byte("'; --"), []byte(odd), bytesOf(3, 1<<20),
		bytesOf(3, 1<<20)} {
		txtest.Same(t, fmt.Sprint("replaced ", i), true, h.reseal(t, first, text))
		first.Text = text
		txtest.Same(t, "listed", []secrets.Sealed{first, second}, h.list(t, "", 10))
	}
	txtest.Same(t, "the record", before, h.state(t, first.Key))
}

func notReplaced(t *testing.T, h SealedStoreUnderTest) {
	is, other := h.put(t, bytesOf(1, 90)), h.put(t, bytesOf(2, 90))
	gone := h.put(t, bytesOf(3, 90))
	txtest.NewEnv(h.Unit).Must(t, func(ctx context.Context) error { return h.Remove(ctx, gone.Key) })
	for what, was := range map[string]secrets.Sealed{
		"another text":             {Key: is.Key, Record: is.Record, Text: bytesOf(4, 90)},
		"a shorter one":            {Key: is.Key, Record: is.Record, Text: is.Text[:20]},
		"a longer one":             {Key: is.Key, Record: is.Record, Text: append(bytes.Clone(is.Text), 0)},
		"none":                     {Key: is.Key, Record: is.Record},
		"that of another one":      {Key: is.Key, Record: is.Record, Text: other.Text},
		"for another record":       {Key: is.Key, Record: other.Record, Text: is.Text},
		"for a later record":       {Key: is.Key, Record: is.Record + "1", Text: is.Text},
		"one that is gone":         gone,
		"one that never was":       {Key: "none", Record: h.Record("none"), Text: is.Text},
		"one that looks like more": {Key: "%", Record: h.Record("%"), Text: is.Text},
	} {
		if h.reseal(t, was, []byte("new")) {
			t.Errorf("%s was replaced", what)
		}
		txtest.Same(t, "after "+what, []secrets.Sealed{is, other}, h.list(t, "", 10))
	}
}

func resealUnits(t *testing.T, h SealedStoreUnderTest) {
	stop := errors.New("stop")
	is := h.put(t, bytesOf(1, 90))
	err := h.Unit.Do(t.Context(), func(ctx context.Context) error {
		ok, err := h.Store.Reseal(ctx, is, bytesOf(2, 90))
		txtest.NoError(t, err)
		txtest.Same(t, "replaced", true, ok)
		list, err := h.Store.ListSealed(ctx, "", 10)
		txtest.NoError(t, err)
		txtest.Same(t, "in the unit", []secrets.Sealed{{Key: is.Key, Record: is.Record, Text: bytesOf(2, 90)}}, list)
		ok, err = h.Store.Reseal(ctx, is, bytesOf(3, 90))
		txtest.NoError(t, err)
		txtest.Same(t, "replaced again", false, ok)
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	txtest.Same(t, "after the unit", []secrets.Sealed{is}, h.list(t, "", 10))
}

// resealedOnce replaces one text concurrently: exactly one caller succeeds.
func resealedOnce(t *testing.T, h SealedStoreUnderTest) {
	is := h.put(t, bytesOf(0, 90))
	for round := 1; round < 10; round++ {
		var won, winner atomic.Int64
		txtest.Together(txtest.Crowd, func(i int) {
			if h.reseal(t, is, bytesOf(round*txtest.Crowd+i, 90)) {
				won.Add(1)
				winner.Store(int64(i))
			}
		})
		txtest.Same(t, "winners", int64(1), won.Load())
		is.Text = bytesOf(round*txtest.Crowd+int(winner.Load()), 90)
		txtest.Same(t, "what is held", []secrets.Sealed{is}, h.list(t, "", 10))
	}
}

func heldCredentials(e *env) SealedStoreUnderTest {
	return SealedStoreUnderTest{
		Unit: e.Unit, Store: e.SealedCredentials, Name: "credentials",
		Put: func(ctx context.Context, text []byte) (string, error) {
			none := secrets.Credential{Record: e.Record(ids.Credential, ""), Kind: secrets.Token} // it has nothing to list
			c := secrets.Credential{Record: e.Record(ids.Credential, ""), Kind: secrets.Token, HasSecret: true, SecretVersion: 7}
			return c.ID, errors.Join(e.Credentials.InsertCredential(ctx, none, nil),
				e.Credentials.InsertCredential(ctx, c, text))
		},
		Record: func(key string) string { return secrets.CredentialRecord(key, 7) },
		State:  func(ctx context.Context, key string) (any, error) { return e.Credentials.CredentialByID(ctx, key) },
		Remove: func(ctx context.Context, key string) error { return e.Credentials.DeleteCredential(ctx, key, 0) },
	}
}

func heldLeases(e *env) SealedStoreUnderTest {
	owner := func(key string) secrets.Owner { return secrets.Owner{ID: "run_of_" + key, Epoch: 1} }
	return SealedStoreUnderTest{
		Unit: e.Unit, Store: e.SealedLeases, Name: "leases", Record: secrets.LeaseRecord, Remove: e.Leases.DropLease,
		Put: func(ctx context.Context, text []byte) (string, error) {
			id := e.ID(ids.Lease)
			return id, e.Leases.InsertLease(ctx,
				secrets.Lease{ID: id, Owner: owner(id), CredentialID: "crd_1", Engine: "vault", Sealed: text})
		},
		State: func(ctx context.Context, key string) (any, error) {
			list, err := e.Leases.LeasesOf(ctx, owner(key))
			for i := range list {
				list[i].Sealed = nil
			}
			return list, err
		},
	}
}
