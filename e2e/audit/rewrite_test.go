package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// change edits the database of a running server in one unit.
func change(t *testing.T, url string, fn func(ctx context.Context, q bun.IDB) error) {
	t.Helper()
	d := dbtest.Connect(t, db.Config{URL: url})
	err := d.Do(t.Context(), func(ctx context.Context) error {
		q, err := d.Write(ctx)
		if err != nil {
			return err
		}
		return fn(ctx, q)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forger rewrites history from an entry on: every hash, and with the signing key also every head.
type forger struct {
	from   int64
	key    []byte // signing.key; empty is a forger without it
	spared string // the kind of an unchanged anchor
}

type row struct {
	Seq  int64
	Leaf string
	Hash []byte
}

var prevForm = regexp.MustCompile(`"prev":"[^"]*"`)

func (f forger) rewrite(t *testing.T, url string) {
	t.Helper()
	change(t, url, func(ctx context.Context, q bun.IDB) error {
		var rows []row
		if err := q.NewSelect().Table("audit_entries").Column("seq", "leaf", "hash").OrderExpr("seq").
			Scan(ctx, &rows); err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			if r.Seq < f.from {
				continue
			}
			if r.Seq == f.from {
				r.Leaf = strings.Replace(r.Leaf, `"applied"`, `"failed"`, 1)
			} else {
				r.Leaf = prevForm.ReplaceAllString(r.Leaf, `"prev":"`+base64.StdEncoding.EncodeToString(rows[i-1].Hash)+`"`)
			}
			hash := tlog.RecordHash([]byte(r.Leaf))
			r.Hash = hash[:]
			if _, err := q.ExecContext(ctx, "UPDATE audit_entries SET leaf = ?, hash = ? WHERE seq = ?", r.Leaf, r.Hash,
				r.Seq); err != nil {
				return err
			}
		}
		if _, err := q.ExecContext(ctx, "UPDATE audit_head SET hash = ?", rows[len(rows)-1].Hash); err != nil ||
			len(f.key) == 0 {
			return err
		}
		return f.resign(t, ctx, q, rows)
	})
}

// resign signs every head over the rewritten entries again.
func (f forger) resign(t *testing.T, ctx context.Context, q bun.IDB, rows []row) error {
	t.Helper()
	var anchors []struct{ ID, Note string }
	if err := q.NewSelect().Table("audit_anchors").Column("id", "note").Where("size >= ? AND kind <> ?", f.from, f.spared).
		Scan(ctx, &anchors); err != nil {
		return err
	}
	for _, a := range anchors {
		note, root := f.note(t, a.Note, rows)
		if _, err := q.ExecContext(ctx, "UPDATE audit_anchors SET note = ?, root = ? WHERE id = ?", note, root[:],
			a.ID); err != nil {
			return err
		}
	}
	return nil
}

// note signs the head of a note for the rewritten entries.
func (f forger) note(t *testing.T, text string, rows []row) (string, tlog.Hash) {
	t.Helper()
	body, lines, _ := strings.Cut(text, "\n\n")
	was, err := parseTree(body + "\n")
	if err != nil {
		t.Fatal(err)
	}
	root := rootOf(t, rows[:was.N])
	origin, _, _ := strings.Cut(body, "\n")
	body = fmt.Sprintf("%s\n%d\n%s\n", origin, was.N, base64.StdEncoding.EncodeToString(root[:]))
	block, _ := pem.Decode(f.key)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	line, others, _ := strings.Cut(lines, "\n")
	line, b64, _ := cutLast(line)
	old, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		t.Fatal(err)
	}
	signed := append(old[:4:4], ed25519.Sign(key.(ed25519.PrivateKey), []byte(body))...)
	return body + "\n" + line + base64.StdEncoding.EncodeToString(signed) + "\n" + others, root
}

func cutLast(s string) (before, after string, ok bool) {
	at := strings.LastIndexByte(s, ' ')
	return s[:at+1], s[at+1:], at >= 0
}

func rootOf(t *testing.T, rows []row) tlog.Hash {
	t.Helper()
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) (out []tlog.Hash, err error) {
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	})
	for i, r := range rows {
		more, err := tlog.StoredHashes(int64(i), []byte(r.Leaf), reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
	}
	root, err := tlog.TreeHash(int64(len(rows)), reader)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// refuses checks that a server refuses every file of a broken chain.
func (w *fixture) refuses(t *testing.T, want verdict) {
	t.Helper()
	for _, path := range []string{"/v1/audit/bundle", "/v1/audit/bundle?from=1&to=2", "/v1/audit/bundle?format=tiles"} {
		var b verdict
		a := w.Do(http.MethodGet, path, nil)
		a.JSON(t, &b)
		if a.Status != http.StatusConflict || b.Reason != want.Reason ||
			fmt.Sprint(b.AnchorProblems) != fmt.Sprint(want.AnchorProblems) {
			t.Errorf("%s: %d %s, want %+v", path, a.Status, a.Body, want)
		}
	}
	out := must(t, 1, append([]string{"audit", "verify"}, beside(w.Server)...)...)
	for _, p := range want.AnchorProblems {
		if !strings.Contains(out, p.Kind) || !strings.Contains(out, p.Problem) {
			t.Errorf("the command does not name %+v:\n%s", p, out)
		}
	}
}

// problem is one unsatisfied anchor, in words.
func (v verdict) problem(kind, what string) bool {
	for _, p := range v.AnchorProblems {
		if p.Kind == kind && p.Problem == what && p.ID != "" && p.Size > 0 {
			return true
		}
	}
	return false
}

// TestEditedAnchorsAreFound edits the stored anchor of an authority and that of a witness.
func TestEditedAnchorsAreFound(t *testing.T) {
	t.Parallel()
	tsa := harness.NewAuthority(t)
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		who := newWitness(t, w.Server)
		outside := filepath.Join(t.TempDir(), "outside.head")
		all := []string{"--tsa", tsa.URL, "--witness", who.url, "--witness-key", who.vkey, "--head-file", outside}
		w.anchored(t, all...)
		w.parked()
		size := w.anchored(t, all...)[0].Size
		for _, c := range []struct{ name, set, kind, message string }{
			{"the root", "root = (SELECT hash FROM audit_head)", "rfc3161", "signature_invalid"},
			{"the size", "size = size - 1", "rfc3161", "signature_invalid"},
			{"the size, beyond the chain", "size = size + 1000", "head_file", "signature_invalid"},
			{"the note", "note = replace(note, '/e1', '/e2')", "checkpoint", "signature_invalid"},
			{"an older note", "note = (SELECT b.note FROM audit_anchors b WHERE b.kind = 'rfc3161' ORDER BY b.size LIMIT 1)",
				"rfc3161", "signature_invalid"},
			{"the witness's line",
				"note = (SELECT b.note FROM audit_anchors b WHERE b.kind = 'checkpoint' ORDER BY b.size DESC LIMIT 1)", "witness",
				"signature_invalid"},
			{"the token of another head",
				"evidence = (SELECT b.evidence FROM audit_anchors b WHERE b.kind = 'rfc3161' ORDER BY b.size LIMIT 1)", "rfc3161",
				"signature_invalid"},
			{"no token", "evidence = (SELECT b.evidence FROM audit_anchors b WHERE b.kind = 'checkpoint' LIMIT 1)", "rfc3161",
				"signature_invalid"},
			{"the kind", "kind = 'rfc3161'", "checkpoint", "signature_invalid"},
			{"the kind, of a head", "kind = 'witness'", "head_file", "signature_invalid"},
			{"the epoch", "epoch = 2", "checkpoint", "signature_invalid"},
		} {
			where := fmt.Sprintf(" WHERE kind = '%s' AND size = %d", c.kind, size)
			sql(t, address(w.Server), "CREATE TABLE kept AS SELECT * FROM audit_anchors",
				"UPDATE audit_anchors SET "+c.set+where)
			v := verify(t, w.Server)
			kind := c.kind
			if _, to, ok := strings.Cut(c.set, "kind = '"); ok && strings.HasPrefix(c.set, "kind") {
				kind = strings.TrimSuffix(to, "'")
			}
			if v.OK || v.Reason != "anchor_unsatisfied" || len(v.AnchorProblems) != 1 || !v.problem(kind, c.message) ||
				v.BrokeAt != 0 {
				t.Errorf("%s of %s: %+v", c.name, c.kind, v)
			} else {
				w.refuses(t, v)
			}
			sql(t, address(w.Server), "DELETE FROM audit_anchors", "INSERT INTO audit_anchors SELECT * FROM kept",
				"DROP TABLE kept")
		}
		intact(t, w.Server)
	})
}

// TestRewrittenHistoryIsFound recomputes every hash from an entry on, without the signing key and with it.
func TestRewrittenHistoryIsFound(t *testing.T) {
	t.Parallel()
	tsa := harness.NewAuthority(t)
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		who := newWitness(t, w.Server)
		for range 5 {
			w.parked()
		}
		run := w.Await(w.Submit(script("true")).ID).ID
		w.anchored(t, "--tsa", tsa.URL, "--witness", who.url, "--witness-key", who.vkey)
		known := filepath.Join(t.TempDir(), "known_logs")
		old := saved(t, w.Client, "/v1/audit/bundle", "old.json")
		receipt := saved(t, w.Client, "/v1/runs/"+run+"/receipt?sparse", "receipt.json")
		must(t, 3, "audit", "verify", old, "--pin", known)

		forger{from: 4}.rewrite(t, address(w.Server))
		v := verify(t, w.Server)
		if v.OK || v.Reason != "anchor_unsatisfied" || v.BrokeAt != 0 || !v.problem("checkpoint", "root_mismatch") ||
			!v.problem("rfc3161", "root_mismatch") || !v.problem("witness", "root_mismatch") {
			t.Errorf("without the key: %+v", v)
		}
		w.refuses(t, v)
		if a := w.Do(http.MethodGet, "/v1/runs/"+run+"/receipt", nil); a.Status != http.StatusConflict {
			t.Errorf("a receipt of rewritten history: %d %s", a.Status, a.Body)
		}

		w.Kill() // a last head by the server itself would be refused and change nothing
		key := []byte(read(t, filepath.Join(w.Dir, "data", "signing.key")))
		forger{from: 5, key: key, spared: "rfc3161"}.rewrite(t, address(w.Server))
		if err := os.Remove(filepath.Join(w.Dir, "data", "audit.head")); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if _, err := harness.Launch(t, w.Options); err == nil || !strings.Contains(err.Error(), "does not continue") {
			t.Errorf("a start over history that was rewritten with the key, and without the authority's: %v", err)
		}
		db := []string{"--db", address(w.Server), "--data-dir", filepath.Join(w.Dir, "data")}
		if out := must(t, 1, append([]string{"audit", "verify"}, db...)...); !strings.Contains(out, "rfc3161") ||
			!strings.Contains(out, "root_mismatch") {
			t.Errorf("with the key, and without the authority's: %s", out)
		}
		sql(t, address(w.Server), "DELETE FROM audit_anchors WHERE kind IN ('rfc3161', 'witness')")
		s := w.Again()
		intact(t, s) // without an outside anchor the server cannot detect an attacker with database and key
		fresh := saved(t, s.Client, "/v1/audit/bundle", "fresh.json")
		if out := must(t, 1, "audit", "verify", fresh, "--pin", known); !strings.Contains(out, "root_mismatch") {
			t.Errorf("who met the log before: %s", out)
		}
		must(t, 3, "audit", "verify", receipt) // a file from before proves it
	})
}
