package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestWhomTheTrailBelieves gets a token from an OpenSSL authority and a cosignature from a witness. A server without
// their keys reports both as unchecked; with the keys both count, and seal.json names them.
// Keeps T50.
func TestWhomTheTrailBelieves(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		tsa, who := harness.NewAuthority(t), newWitness(t, w.Server)
		w.parked()
		w.anchored(t, "--tsa", tsa.URL, "--witness", who.url, "--witness-key", who.vkey)
		const unchecked = "2 time-stamp tokens and witness cosignatures"
		db := slices.Concat([]string{"audit", "verify"}, beside(w.Server))
		if out := must(t, 0, db...); !strings.Contains(out, unchecked) {
			t.Errorf("nobody is believed: %s", out)
		}
		if out := must(t, 0, append(db, "--tsa-roots", tsa.CA, "--witness-key", who.vkey)...); strings.Contains(out,
			"time-stamp tokens") {
			t.Errorf("both are believed: %s", out)
		}
		other := harness.NewAuthority(t)
		if out := must(t, 0, append(db, "--tsa-roots", other.CA, "--witness-key", who.vkey)...); !strings.Contains(out,
			"1 time-stamp tokens") {
			t.Errorf("another authority is believed: %s", out)
		}
		var checked struct {
			NotChecked []string `json:"not_checked"`
		}
		w.Stop()
		o := w.Options
		o.Flags = append(slices.Clone(o.Flags), "--audit-tsa-roots", tsa.CA, "--audit-witness-key", who.vkey)
		w = &fixture{Server: harness.Start(t, o), t: t}
		w.Do(http.MethodGet, "/v1/audit/verify", nil).JSON(t, &checked)
		if strings.Contains(fmt.Sprint(checked.NotChecked), "time-stamp tokens") {
			t.Errorf("the server was told of both: %q", checked.NotChecked)
		}
		w.parked()
		w.anchored(t, "--tsa", tsa.URL, "--witness", who.url, "--witness-key", who.vkey)
		var published struct {
			Policy string
			TSA    []struct{ Name string }
		}
		seal := w.As("").Do(http.MethodGet, "/.well-known/seal.json", nil)
		if err := json.Unmarshal(seal.Body, &published); err != nil || len(published.TSA) == 0 ||
			!strings.Contains(published.Policy, "witness w1 "+who.vkey+"\n") {
			t.Errorf("%v: %s", err, seal.Body)
		}
		receipt := saved(t, w.Client, "/v1/runs/"+w.parked()+"/receipt", "receipt.json")
		file := saved(t, w.As(""), "/.well-known/seal.json", "seal.json")
		if out := must(t, 0, "audit", "verify", receipt, "--seal", file, "--tsa-roots", tsa.CA, "--witness-key",
			who.vkey); !strings.Contains(out, "with a verified time-stamp token or witness cosignature") {
			t.Errorf("the receipt: %s", out)
		}
		if out := must(t, 0, "audit", "verify", receipt, "--seal", file); !strings.Contains(out,
			"4 time-stamp tokens and witness cosignatures") {
			t.Errorf("the receipt, without them: %s", out)
		}
	})
}

// TestADatabaseIsHeldToWhatAReaderKnows verifies a database with keys, a seal, a head and a file of known logs.
func TestADatabaseIsHeldToWhatAReaderKnows(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		w.parked()
		w.anchored(t)
		seal := saved(t, w.As(""), "/.well-known/seal.json", "seal.json")
		pins := filepath.Join(t.TempDir(), "known_logs")
		db := slices.Concat([]string{"audit", "verify"}, beside(w.Server))
		key := sealed(t, w.Server).vkey(t)
		must(t, 0, append(db, "--seal", seal, "--key", key)...)
		must(t, 3, append(db, "--pin", pins)...)
		must(t, 0, append(db, "--pin", pins)...)
		held := sealed(t, w.Server).tree(t, sealed(t, w.Server).Checkpoint)
		head := func(size int64) string { return fmt.Sprintf("%d:%s", size, held.Hash) }
		must(t, 0, append(db, "--from", head(held.N))...)
		if out := must(t, 1, append(db, "--from", head(held.N-1))...); !strings.Contains(out, "root_mismatch") {
			t.Errorf("another head: %s", out)
		}
		if out := must(t, 1, append(db, "--from", head(held.N+1000))...); !strings.Contains(out, "tail_missing") {
			t.Errorf("a head beyond: %s", out)
		}
		other := harness.Start(t, harness.Options{})
		if out := must(t, 1, append(db, "--key", sealed(t, other).vkey(t))...); !strings.Contains(out,
			"not signed by a trusted key") {
			t.Errorf("another install's key: %s", out)
		}
	})
}

// TestAWorkerTakesTheSigningKey starts workers on the database with the install's key, another install's key and a
// missing key file: the first stores a head, the second stores none, and the third does not start.
func TestAWorkerTakesTheSigningKey(t *testing.T) {
	t.Parallel()
	w := &fixture{Server: harness.Start(t, harness.Options{}), t: t}
	other := harness.Start(t, harness.Options{})
	w.parked()
	w.anchored(t)
	key := func(s *harness.Server) []string {
		return []string{"--queue", "nobodys", "--signing-key-file", filepath.Join(s.Dir, "data", "signing.key")}
	}
	held := func(worker *harness.Worker) bool {
		files, err := filepath.Glob(filepath.Join(worker.Dir, "data", "heads", "*.note"))
		return err == nil && len(files) > 0
	}
	foreign := harness.StartWorker(t, harness.WorkerOptions{DB: address(w.Server), Flags: key(other)})
	own := harness.StartWorker(t, harness.WorkerOptions{DB: address(w.Server), Flags: key(w.Server)})
	harness.Eventually(t, time.Minute, "a head is held", func() bool { return held(own) })
	if held(foreign) {
		t.Error("a worker with another install's key holds a head that it did not sign")
	}
	missing := harness.LaunchWorker(t, harness.WorkerOptions{
		DB: address(w.Server), Flags: []string{"--signing-key-file", filepath.Join(t.TempDir(), "none.key")},
	})
	if err := missing.Ready(time.Minute); err == nil || !strings.Contains(err.Error(), "signing-key-file") {
		t.Errorf("a worker whose key is not there: %v", err)
	}
}
