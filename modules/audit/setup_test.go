package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/audit/tampertest"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
)

// paper is an in-memory file: a head file, or that of the signing key.
type paper struct{ text string }

func (p *paper) Load() (string, error)  { return p.text, nil }
func (p *paper) Save(text string) error { p.text = text; return nil }

type keyFile struct{ paper }

func (k *keyFile) Load() ([]byte, error) { return []byte(k.text), nil }
func (k *keyFile) Save(pem []byte) error { k.text = string(pem); return nil }

// trail is an install on a real store, with an attacker who has its database.
type trail struct {
	auditmodule.Result
	*tampertest.Tamperer
	prover audit.Prover
	store  *sqlaudit.Store
	d      *db.DB
	head   *paper
	key    *keyFile
}

// open makes an install on a database, or its next process.
func open(t *testing.T, url string, head *paper, key *keyFile) *trail {
	t.Helper()
	d := dbtest.Connect(t, db.Config{URL: url, UnitTimeout: 2 * time.Minute, BusyTimeout: time.Minute})
	store, c := sqlaudit.New(d), clock.New()
	believed, err := proof.ParseOutsiders(nil, []string{watcher().VKey()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := auditmodule.New(auditmodule.Params{
		Chain: store, Reader: store, Tiles: store, Anchors: store, Identity: store,
		Unit: d, Clock: c, IDs: ids.New(c),
		Config: auditmodule.Config{Site: "audit.example.org", Version: "1", HeadFile: head, Keys: key, Beat: time.Hour,
			Outsiders: believed},
	})
	if err == nil {
		err = r.Opening.Open(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return &trail{Result: r, Tamperer: tampertest.New(d), prover: auditmodule.NewProver(r.Core, nil), store: store, d: d,
		head: head, key: key}
}

// eachEngine calls fn on each engine with a chain of n entries and stored heads at 6 and at n.
func eachEngine(t *testing.T, n int64, fn func(t *testing.T, tr *trail)) {
	t.Helper()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			tr := open(t, dbtest.Fresh(t, engine, migrations.FS), &paper{}, &keyFile{})
			tr.grow(t, 4)
			tr.anchor(t, audit.AnchorRequest{}) // of 5 entries; the sixth one records it
			for tr.size(t) < n-1 {
				tr.grow(t, 1)
			}
			tr.anchor(t, audit.AnchorRequest{})
			if v := tr.verify(t); !v.OK || v.Count != n {
				t.Fatalf("%+v", v)
			}
			fn(t, tr)
		})
	}
}

// grow records n entries with private values, one per unit.
func (tr *trail) grow(t testing.TB, n int) {
	t.Helper()
	ctx := actor.With(t.Context(), actor.Actor{Type: actor.User, ID: "usr_00000000000000000000000001", Name: "Ada"})
	for range n {
		err := tr.d.Do(ctx, func(ctx context.Context) error {
			return tr.Recorder.Record(ctx, audit.Entry{Action: audit.UserUpdate,
				Object: audit.Object{Kind: "user", ID: "usr_1", Name: "Bob"}, Detail: map[string]any{"a": 1}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (tr *trail) size(t testing.TB) int64 {
	t.Helper()
	n, _, err := tr.store.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (tr *trail) anchor(t testing.TB, by audit.AnchorRequest) {
	t.Helper()
	if _, err := tr.Admin.Anchor(t.Context(), by); err != nil {
		t.Fatal(err)
	}
}

// failer is the common part of all kinds of tests.
type failer interface {
	Helper()
	Fatal(args ...any)
}

var (
	_ failer = (*testing.T)(nil)
	_ failer = (*rapid.T)(nil)
)

func (tr *trail) verify(t failer) audit.ChainVerdict {
	t.Helper()
	v, err := tr.prover.Verify(context.Background(), proof.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// refused checks that no bundle of any window is made, and that each refusal has the verdict's coordinates (A28).
func (tr *trail) refused(t *testing.T, v audit.ChainVerdict) {
	t.Helper()
	for _, q := range []audit.BundleQuery{{}, {From: 1, To: 1}, {Limit: 1}, {Tiles: true}, {Private: true}} {
		_, err := tr.prover.Bundle(t.Context(), q)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Conflict {
			t.Errorf("a bundle of %+v: %v", q, err)
			continue
		}
		got, want := fmt.Sprint(f.Detail["reason"], f.Detail["broke_at"], f.Detail["broke_seq"], f.Detail["count"],
			f.Detail["anchor_problems"]),
			fmt.Sprint(v.Reason, v.BrokeAt, v.BrokeSeq, v.Count, v.AnchorProblems)
		if got != want {
			t.Errorf("a bundle of %+v is refused with %s, and the verdict is %s", q, got, want)
		}
	}
}

// file writes the bundle of the whole chain.
func (tr *trail) file(t *testing.T, q audit.BundleQuery) []byte {
	t.Helper()
	doc, err := tr.prover.Bundle(t.Context(), q)
	var b bytes.Buffer
	if err == nil {
		err = doc.WriteTo(t.Context(), &b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (tr *trail) stored(t failer, seq int64) (out audit.Stored) {
	t.Helper()
	err := tr.store.Range(context.Background(), seq, seq, true, func(e *audit.Stored) error { out = *e; return nil })
	if err != nil || out.Seq != seq {
		t.Fatal(seq, err)
	}
	return out
}

// sql changes the store in ways that the Tamperer does not offer.
func (tr *trail) sql(t failer, statement string, args ...any) {
	t.Helper()
	err := tr.d.Do(context.Background(), func(ctx context.Context) error {
		tx, err := tr.d.Write(ctx)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, statement, args...)
		return err
	})
	if err != nil {
		t.Fatal(statement, err)
	}
}
