package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// cut deletes the entries beyond a size and every stored head, like an attacker with only the database.
func cut(t *testing.T, s *harness.Server, size int64) {
	t.Helper()
	sql(t, address(s),
		fmt.Sprintf("DELETE FROM audit_entries WHERE seq > %d", size),
		fmt.Sprintf("DELETE FROM audit_private WHERE seq > %d", size),
		"DELETE FROM audit_anchors", "DELETE FROM audit_tiles",
		fmt.Sprintf("UPDATE audit_head SET size = %d, hash = (SELECT hash FROM audit_entries WHERE seq = %d)", size, size))
}

// TestTheHeadFileAloneFindsACutTail cuts the end of the chain together with every checkpoint, of a running server and
// before its start.
func TestTheHeadFileAloneFindsACutTail(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		for range 4 {
			w.parked()
		}
		w.Stop() // it saves the head when it stops
		w = &fixture{Server: w.Again(), t: t}
		kept := sealed(t, w.Server).tree(t, read(t, filepath.Join(w.Dir, "data", "audit.head")))
		cut(t, w.Server, kept.N-2)
		v := verify(t, w.Server)
		if v.OK || v.Reason != "anchor_unsatisfied" || len(v.AnchorProblems) != 1 ||
			!v.problem("head_file", "tail_missing") || v.AnchorProblems[0].Size != kept.N || v.BrokeAt != 0 {
			t.Errorf("verify says %+v, want the head of %d to be missed", v, kept.N)
		}
		w.refuses(t, v)
		w.Kill()
		_, err := harness.Launch(t, w.Options)
		if err == nil || !strings.Contains(err.Error(), "accept-rollback") ||
			!strings.Contains(err.Error(), fmt.Sprintf("a head of %d entries", kept.N)) {
			t.Errorf("the start over a chain that was cut: %v", err)
		}
		out := must(t, 1, append([]string{"audit", "verify"}, beside(w.Server)...)...)
		if !strings.Contains(out, "head_file") || !strings.Contains(out, "tail_missing") {
			t.Errorf("the command says %s", out)
		}
		// Without the head file this cannot be detected, and the verdict lists it as unprovable.
		if err := os.Rename(filepath.Join(w.Dir, "data", "audit.head"), filepath.Join(w.Dir, "saved.head")); err != nil {
			t.Fatal(err)
		}
		if out := must(t, 0, append([]string{"audit", "verify"}, beside(w.Server)...)...); !strings.Contains(out,
			"no head outside of the database is known") {
			t.Errorf("without any head: %s", out)
		}
	})
}

// TestHeadFilesThatDoNotFit starts servers with head files that are older, missing, of another install, edited or
// without a head.
func TestHeadFilesThatDoNotFit(t *testing.T) {
	t.Parallel()
	w := &fixture{Server: harness.Start(t, harness.Options{}), t: t}
	other := harness.Start(t, harness.Options{})
	file := filepath.Join(w.Dir, "data", "audit.head")
	other.Stop()
	w.Stop()
	older := read(t, file)
	w = &fixture{Server: w.Again(), t: t}
	w.parked()
	w.Stop()
	newer := read(t, file)
	if older == newer {
		t.Fatal("the head file did not change")
	}
	flipped := []byte(newer)
	flipped[len(flipped)-20] ^= 1
	for name, c := range map[string]struct {
		text    string
		message string // empty: it starts
	}{
		"older":              {older, ""},
		"none":               {"", ""},
		"of another install": {read(t, filepath.Join(other.Dir, "data", "audit.head")), "not one of this install"},
		"no head":            {"hello\n", "head file"},
		"another signature":  {string(flipped), "head file"},
		"larger, unsigned":   {strings.Replace(newer, "\n", "\n9", 1), "head file"},
	} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if c.text != "" {
			write(t, file, c.text)
		}
		s, err := harness.Launch(t, w.Options)
		if (err == nil) != (c.message == "") || err != nil && !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			if got := read(t, file); got != c.text {
				t.Errorf("%s: a head file that was refused is written over: %q", name, got)
			}
			continue
		}
		intact(t, s)
		s.Stop()
		if tree := read(t, file); tree == older || tree == "" {
			t.Errorf("%s: the head file was not brought up to date: %q", name, tree)
		}
	}
}

// TestAReceiptOfWhatIsGone asks for a proof from a head of a chain that was rolled back. The server reports the
// mismatch while the new chain is shorter and when it is larger.
func TestAReceiptOfWhatIsGone(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		run := w.Await(w.Submit(script("true")).ID).ID
		base := verify(t, w.Server).Count
		for range 4 {
			w.token() // so that the cut below leaves no run without entries
		}
		known := filepath.Join(t.TempDir(), "known_logs")
		old := saved(t, w.Client, "/v1/audit/bundle", "old.json")
		must(t, 3, "audit", "verify", old, "--pin", known)
		held := sealed(t, w.Server).tree(t, jsonHead(t, old))
		w.Stop()
		cut(t, w.Server, base)
		must(t, 0, slices.Concat([]string{"audit", "accept-rollback", "--yes", "--reason", "the disk failed"},
			beside(w.Server))...)
		w = &fixture{Server: w.Again(), t: t}

		var b verdict
		a := w.Do(http.MethodGet, fmt.Sprintf("/v1/runs/%s/receipt?from=%d", run, held.N), nil)
		a.JSON(t, &b)
		if a.Status != http.StatusConflict || b.Reason != "anchor_unsatisfied" || !b.problem("from", "tail_missing") ||
			b.AnchorProblems[0].Size != held.N {
			t.Errorf("since a head that is gone: %d %s", a.Status, a.Body)
		}
		for newest(t, w.Server) < held.N+2 {
			w.token()
		}
		intact(t, w.Server)
		seal := saved(t, w.As(""), "/.well-known/seal.json", "seal.json")
		receipt := saved(t, w.Client, fmt.Sprintf("/v1/runs/%s/receipt?from=%d", run, held.N), "receipt.json")
		must(t, 0, "audit", "verify", receipt, "--seal", seal)
		out := must(t, 1, "audit", "verify", receipt, "--seal", seal, "--from", fmt.Sprintf("%d:%s", held.N, held.Hash))
		if !strings.Contains(out, "root_mismatch") {
			t.Errorf("a chain that is not the one of the head: %s", out)
		}
		now := saved(t, w.Client, "/v1/audit/bundle", "now.json")
		if out, code := writ(t, "audit", "verify", now, "--pin", known); code == 0 {
			t.Errorf("who met the chain before it was rolled back hears nothing of it:\n%s", out)
		}
	})
}

// jsonHead is the head of a bundle.
func jsonHead(t *testing.T, file string) string {
	t.Helper()
	var b struct{ Checkpoint string }
	if err := json.Unmarshal([]byte(read(t, file)), &b); err != nil || b.Checkpoint == "" {
		t.Fatalf("%v: no head in %s", err, file)
	}
	return b.Checkpoint
}
