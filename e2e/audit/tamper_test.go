package audit

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// sql edits the database of a running server.
func sql(t *testing.T, url string, statements ...string) {
	t.Helper()
	d := dbtest.Connect(t, db.Config{URL: url})
	err := d.Do(t.Context(), func(ctx context.Context) error {
		tx, err := d.Write(ctx)
		if err != nil {
			return err
		}
		for _, s := range statements {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// address returns the database of a server under test.
func address(s *harness.Server) string {
	if s.DB != "" {
		return s.DB
	}
	return filepath.Join(s.Dir, "writ.db")
}

// TestEditsAreFound edits the database of a running server in every way of the design's table, and checks every
// verdict. After each edit it restores the data.
// Keeps T36.
func TestEditsAreFound(t *testing.T) {
	t.Parallel()
	const edit = "UPDATE audit_entries SET leaf = replace(leaf, '\"applied\"', '\"failed\"') WHERE seq = "
	cases := map[string]struct {
		sql    []string
		reason string
		at     int64
		seq    int64
	}{
		"an entry":             {[]string{edit + "4"}, "chain_break", 4, 4},
		"a column beside it":   {[]string{"UPDATE audit_entries SET actor = 'usr_other' WHERE seq = 4"}, "chain_break", 4, 4},
		"an entry is deleted":  {[]string{"DELETE FROM audit_entries WHERE seq = 4"}, "chain_break", 4, 5},
		"the first is deleted": {[]string{"DELETE FROM audit_entries WHERE seq = 1"}, "chain_break", 1, 2},
		"two change places": {[]string{
			"UPDATE audit_entries SET seq = -4 WHERE seq = 4", "UPDATE audit_entries SET seq = 4 WHERE seq = 5",
			"UPDATE audit_entries SET seq = 5 WHERE seq = -4",
		}, "chain_break", 4, 5},
		"what is no entry":      {[]string{"UPDATE audit_entries SET leaf = '{}' WHERE seq = 4"}, "chain_break", 0, 0},
		"everything is deleted": {[]string{"DELETE FROM audit_entries"}, "anchor_unsatisfied", 0, 0},
	}
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		for range 6 {
			w.parked()
		}
		install := []string{"--db", address(w.Server), "--data-dir", filepath.Join(w.Dir, "data")}
		must(t, 0, append([]string{"audit", "anchor"}, install...)...)
		sql(t, address(w.Server), "CREATE TABLE kept_entries AS SELECT * FROM audit_entries")
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				intact(t, w.Server)
				sql(t, address(w.Server), c.sql...)
				v := verify(t, w.Server)
				if v.OK || v.Reason != c.reason || v.BrokeAt != c.at || v.BrokeSeq != c.seq {
					t.Errorf("verify says %+v, want %s at %d (%d)", v, c.reason, c.at, c.seq)
				}
				for _, path := range []string{"/v1/audit/bundle", "/v1/audit/bundle?from=6&to=6", "/v1/audit/bundle?format=tiles"} {
					var b verdict
					a := w.Do(http.MethodGet, path, nil)
					a.JSON(t, &b)
					if a.Status != http.StatusConflict || b.Reason != v.Reason || b.BrokeAt != v.BrokeAt || b.BrokeSeq != v.BrokeSeq ||
						b.Count != v.Count {
						t.Errorf("%s: %d %s", path, a.Status, a.Body)
					}
					if !strings.Contains(string(a.Body), `"anchor_problems"`) || !strings.Contains(string(a.Body), `"error"`) {
						t.Errorf("%s: members are missing: %s", path, a.Body)
					}
				}
				must(t, 1, append([]string{"audit", "verify"}, install...)...)
				sql(t, address(w.Server), "DELETE FROM audit_entries", "INSERT INTO audit_entries SELECT * FROM kept_entries")
			})
		}
		intact(t, w.Server)
	})
}

// TestNoChangeWithoutItsEntry renames the trail's table: every change is refused and has no effect.
func TestNoChangeWithoutItsEntry(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		parked, user := w.parked(), w.user()
		sql(t, address(w.Server), "ALTER TABLE audit_entries RENAME TO audit_gone")
		count := func() int {
			_, total := w.Runs("")
			return total
		}
		before := count()
		for _, c := range []struct {
			method, path string
			body         any
		}{
			{http.MethodPost, "/v1/runs", script("true")},
			{http.MethodPost, "/v1/runs/" + parked + "/cancel", nil},
			{http.MethodDelete, "/v1/users/" + user, nil},
			{http.MethodPost, "/v1/tokens", harness.Body{"name": "x"}},
			{http.MethodPost, "/v1/teams", harness.Body{"name": "x"}},
		} {
			a := w.Do(c.method, c.path, c.body)
			var p struct{ Reason string }
			if a.JSON(t, &p); a.Status != http.StatusServiceUnavailable || p.Reason != "audit_unavailable" ||
				a.Header.Get("Audit-Receipt") != "" {
				t.Errorf("%s %s: %d %s", c.method, c.path, a.Status, a.Body)
			}
		}
		if a := w.As("").Do(http.MethodPost, "/v1/auth/login",
			harness.Body{"username": "admin", "password": "not this one, no"}); a.Status != http.StatusServiceUnavailable {
			t.Errorf("a sign-in: %d %s", a.Status, a.Body)
		}
		sql(t, address(w.Server), "ALTER TABLE audit_gone RENAME TO audit_entries")
		if n := count(); n != before || w.Get(parked).Status != "pending" || w.Do(http.MethodGet, "/v1/users/"+user, nil).
			Status != 200 {
			t.Errorf("something was done: %d runs, %d before", n, before)
		}
		w.parked()
		intact(t, w.Server)
	})
}

// TestARestoredDatabaseStopsTheStart copies a database, makes changes, and restores the copy.
// Keeps F36.
func TestARestoredDatabaseStopsTheStart(t *testing.T) {
	t.Parallel()
	w := &fixture{Server: harness.Start(t, harness.Options{}), t: t}
	for range 3 {
		w.parked()
	}
	seal := saved(t, w.As(""), "/.well-known/seal.json", "seal.json")
	w.Stop()
	db, copied := address(w.Server), filepath.Join(t.TempDir(), "copy.db")
	duplicate(t, db, copied)

	s := w.Again()
	again := &fixture{Server: s, t: t}
	for range 3 {
		again.parked()
	}
	old := saved(t, s.Client, "/v1/audit/bundle", "old.json")
	s.Stop()
	duplicate(t, copied, db)
	for _, wal := range []string{"-wal", "-shm"} {
		_ = os.Remove(db + wal)
	}
	if _, err := harness.Launch(t, w.Options); err == nil || !strings.Contains(err.Error(), "accept-rollback") {
		t.Fatalf("a server over a restored database: %v", err)
	}
	data := []string{"--db", db, "--data-dir", filepath.Join(w.Dir, "data")}
	must(t, 2, append([]string{"audit", "accept-rollback"}, data...)...)
	must(t, 2, append([]string{"audit", "accept-rollback", "--reason", "nobody can be asked"}, data...)...)
	must(t, 0, append([]string{"audit", "accept-rollback", "--yes", "--reason", "the disk failed"}, data...)...)
	must(t, 1, append([]string{"audit", "accept-rollback", "--yes", "--reason", "again"}, data...)...)

	s = w.Again()
	v := intact(t, s)
	var content struct {
		Origin string
		Epoch  int64
	}
	if s.As("").Do(http.MethodGet, "/.well-known/seal.json", nil).JSON(t, &content); content.Epoch != 2 ||
		!strings.HasSuffix(content.Origin, "/e2") {
		t.Errorf("after a rollback seal.json says %+v", content)
	}
	list := trail(t, s, 0)
	found := false
	for _, e := range list {
		found = found || e.Action == "svc.epoch" && len(e.Details) > 0
	}
	if !found || int64(len(list)) < v.Count {
		t.Errorf("no entry tells of the rollback: %+v", list)
	}
	must(t, 0, "audit", "verify", old, "--seal", seal) // earlier files stay valid
	must(t, 0, "audit", "verify", saved(t, s.Client, "/v1/audit/bundle", "new.json"), "--seal",
		saved(t, s.As(""), "/.well-known/seal.json", "seal.json"))
}

func duplicate(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
