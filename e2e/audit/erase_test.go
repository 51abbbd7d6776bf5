package audit

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestErasedValuesAreGone erases the author and the input of a run, and searches every place that had them.
func TestErasedValuesAreGone(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		const agent, path = "Quokka-4711-of-marzipan", "/v1/runs"
		body := script("true")
		body["labels"] = harness.Body{"who": "x"}
		var run harness.Run
		w.Do(http.MethodPost, path, body, "User-Agent", agent).JSON(t, &run)
		run = w.Await(run.ID)
		if dbURL == "" && len(w.inFiles(t, encoded(agent))) == 0 {
			t.Error("the value is looked for in the wrong form")
		}
		seal := saved(t, w.As(""), "/.well-known/seal.json", "seal.json")
		before := w.ofRun(t, run.ID)
		if before[0].Actor.Name == "" || before[0].Actor.IP == "" || before[0].Path != path || len(before[0].Details) == 0 {
			t.Fatalf("the submission is recorded as %+v", before[0])
		}
		old := saved(t, w.Client, "/v1/audit/bundle", "old.json")
		if !strings.Contains(must(t, 0, "audit", "verify", old, "--seal", seal), "are present and match their digests") {
			t.Error("an admin's bundle lacks values before anything was erased")
		}
		must(t, 0, slices.Concat([]string{"audit", "erase", "--yes", "--seq", fmt.Sprint(before[0].Seq), "--ground",
			"gdpr_17"}, beside(w.Server))...)

		after := w.ofRun(t, run.ID)
		e := after[0]
		if e.Actor.Name != "" || e.Actor.IP != "" || e.Path != "" || len(e.Details) != 0 || e.Text != "" {
			t.Errorf("after it was erased the entry says %+v", e)
		}
		if e.Hash != before[0].Hash || e.Actor.ID != before[0].Actor.ID || e.DetailsHash != before[0].DetailsHash {
			t.Errorf("the entry was %+v and is %+v", before[0], e)
		}
		intact(t, w.Server)
		if out := must(t, 0, slices.Concat([]string{"audit", "verify", "--seal", seal},
			beside(w.Server))...); !strings.Contains(out, "erased: ") || !strings.Contains(out, "(by entry ") ||
			strings.Contains(out, "withheld") {
			t.Errorf("the database does not say by which entry values are erased:\n%s", out)
		}
		now := saved(t, w.Client, "/v1/audit/bundle", "now.json")
		if out := must(t, 0, "audit", "verify", now, "--seal", seal); !strings.Contains(out, "withheld") &&
			!strings.Contains(out, "erased") {
			t.Errorf("the bundle does not say that values are missing:\n%s", out)
		}
		must(t, 0, "audit", "verify", old, "--seal", seal)
		for _, query := range []string{"", "?sparse", "?from=0"} {
			must(t, 0, "audit", "verify", saved(t, w.Client, "/v1/runs/"+run.ID+"/receipt"+query, "receipt.json"),
				"--seal", seal)
		}
		if a := w.Do(http.MethodGet, "/v1/runs/"+run.ID+"/evidence", nil); a.Status != http.StatusOK ||
			bytes.Contains(a.Body, []byte(agent)) {
			t.Errorf("the evidence of the run: %d %.300s", a.Status, a.Body)
		}
		w.erasures(t, before[0].Seq)
		if dbURL != "" {
			return // Postgres keeps dead rows until a vacuum
		}
		// The next checkpoint empties the log of the database, at the latest at the end of the server.
		if held := w.inFiles(t, encoded(agent)); slices.Contains(held, filepath.Base(address(w.Server))) {
			t.Errorf("beside the server %v still hold what was erased", held)
		}
		w.Stop()
		if held := w.inFiles(t, encoded(agent)); len(held) > 0 {
			t.Errorf("after its end %v still hold what was erased", held)
		}
	})
}

// ofRun returns the entries of a run, oldest first.
func (w *fixture) ofRun(t *testing.T, run string) []entry {
	t.Helper()
	out := slices.DeleteFunc(trail(t, w.Server, 0), func(e entry) bool { return e.Run != run && e.Object.ID != run })
	if len(out) == 0 {
		t.Fatalf("run %s has no entries", run)
	}
	return out
}

// erasures checks the entries of erasures, and the refused ones.
func (w *fixture) erasures(t *testing.T, seq int64) {
	t.Helper()
	before := trail(t, w.Server, 0)
	found := false
	for _, e := range before {
		content := fmt.Sprintf("%s", e.Details)
		found = found || e.Action == "audit.erase" && strings.Contains(content, "gdpr_17") &&
			strings.Contains(content, fmt.Sprint(seq))
	}
	if !found {
		t.Error("no entry tells what was erased and why")
	}
	for _, flags := range [][]string{{"--seq", "1,99999", "--ground", "gdpr_17"}, {"--seq", "1"}, {"--ground", "x"},
		{"--seq", "1", "--ground", "GDPR 17"}, {"--seq", "0", "--ground", "x"}, {"--seq", "-1", "--ground", "x"}} {
		if out, code := writ(t, slices.Concat([]string{"audit", "erase", "--yes"}, beside(w.Server), flags)...); code == 0 {
			t.Errorf("%v: %s", flags, out)
		}
	}
	if fmt.Sprint(trail(t, w.Server, 0)) != fmt.Sprint(before) {
		t.Error("a refused erasure did something")
	}
}

// encoded returns the part of a value in the base64 of any text that contains it, at each of the three offsets.
func encoded(value string) []string {
	out := []string{value}
	for at := range 3 {
		part := value[at:]
		out = append(out, base64.RawURLEncoding.EncodeToString([]byte(part[:len(part)/3*3])))
	}
	return out
}

// inFiles lists the files of an SQLite database that hold any of the values.
func (w *fixture) inFiles(t *testing.T, values []string) (held []string) {
	t.Helper()
	files, err := filepath.Glob(address(w.Server) + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(values, func(v string) bool { return bytes.Contains(b, []byte(v)) }) {
			held = append(held, filepath.Base(f))
		}
	}
	return held
}
