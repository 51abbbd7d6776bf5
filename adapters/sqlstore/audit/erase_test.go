package audit_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/audit"
)

// append links one entry of an action with private parts.
func appendPrivately(t *testing.T, d *db.DB, s *sqlaudit.Store, action audit.Action, disclosure, detail string) {
	t.Helper()
	err := d.Do(t.Context(), func(ctx context.Context) error {
		tip, now, err := s.Lock(ctx)
		if err != nil {
			return err
		}
		e := entry(tip, now)
		e.Action, e.Disclosures, e.Detail = string(action), []string{disclosure}, detail
		return s.Append(ctx, []audit.Stored{e})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestErasingLeavesWhatIsPublic keeps the documents that receipts show and those that list the erased entries.
func TestErasingLeavesWhatIsPublic(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s := sqlaudit.New(d)
		for _, a := range []audit.Action{audit.RunSubmit, audit.RunFinal, audit.AuditErase, audit.RunFinal} {
			appendPrivately(t, d, s, a, "WyJ4Il0", `{"a":1}`)
		}
		if err := d.Do(t.Context(), func(ctx context.Context) error { return s.Erase(ctx, []int64{1, 2, 3}) }); err != nil {
			t.Fatal(err)
		}
		want := []struct {
			disclosures int
			detail      string
		}{{0, ""}, {0, `{"a":1}`}, {0, `{"a":1}`}, {1, `{"a":1}`}}
		err := s.Range(t.Context(), 1, 4, true, func(e *audit.Stored) error {
			if w := want[e.Seq-1]; len(e.Disclosures) != w.disclosures || e.Detail != w.detail {
				t.Errorf("entry %d: %q %q", e.Seq, e.Disclosures, e.Detail)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestErasedValuesAreNotInTheFile searches every byte of an SQLite database, including free pages and the log.
func TestErasedValuesAreNotInTheFile(t *testing.T) {
	t.Parallel()
	file := dbtest.Fresh(t, db.SQLite, migrations.FS)
	d, err := db.Open(t.Context(), db.Config{URL: file, UnitTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s := sqlaudit.New(d)
	secret := bytes.Repeat([]byte("cHJpdmF0ZS12YWx1ZQ"), 300) // more than a page
	for range 20 {
		appendPrivately(t, d, s, audit.RunSubmit, string(secret), `{"name":"`+string(secret)+`"}`)
	}
	seqs := make([]int64, 20)
	for i := range seqs {
		seqs[i] = int64(i) + 1
	}
	if err := d.Do(t.Context(), func(ctx context.Context) error { return s.Erase(ctx, seqs) }); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil { // the last connection checkpoints the log
		t.Fatal(err)
	}
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(raw, []byte("cHJpdmF0ZS12YWx1ZQ")); n > 0 {
			t.Errorf("%s holds the erased value %d times", filepath.Base(f), n)
		}
	}
}
