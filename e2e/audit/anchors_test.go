package audit

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// beside returns the flags of a command on the install of a server.
func beside(s *harness.Server) []string {
	return []string{"--db", address(s), "--data-dir", filepath.Join(s.Dir, "data")}
}

// made is an anchor in the output of the command.
type made struct {
	ID, Kind, Source string
	Size             int64
	Root             []byte
}

// anchored runs "writ audit anchor", which must succeed.
func (w *fixture) anchored(t *testing.T, flags ...string) []made {
	t.Helper()
	var out struct{ Anchors []made }
	text := must(t, 0, slices.Concat([]string{"audit", "anchor", "--json"}, beside(w.Server), flags)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out.Anchors
}

// kinds returns the kinds of anchors, in their order.
func kinds(list []made) string {
	var out []string
	for _, a := range list {
		out = append(out, a.Kind)
	}
	return strings.Join(out, " ")
}

// unpacked unpacks the tiles of a server into a directory.
func (w *fixture) unpacked(t *testing.T) (dir string) {
	t.Helper()
	a := w.Do(http.MethodGet, "/v1/audit/bundle?format=tiles", nil)
	if a.Status != http.StatusOK {
		t.Fatalf("tiles: %d %s", a.Status, a.Body)
	}
	z, err := zip.NewReader(bytes.NewReader(a.Body), int64(len(a.Body)))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, f := range z.File {
		if !filepath.IsLocal(f.Name) {
			t.Fatalf("the zip has %q", f.Name)
		}
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(f.Name)), 0o700); err != nil {
			t.Fatal(err)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, f.Name), string(text))
	}
	return dir
}

// step returns the commands of a step of VERIFY.txt.
func step(t *testing.T, dir, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, filepath.Join(dir, "VERIFY.txt")), "\n## step "+name+":")
	if !ok {
		t.Fatalf("VERIFY.txt has no step %s", name)
	}
	rest, _, _ = strings.Cut(rest, "\n## step ")
	_, rest, _ = strings.Cut(rest, "\n")
	return rest
}

// shell runs commands in a directory.
func shell(t *testing.T, dir, script string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAnAuthorityVouches gets two tokens for the head from OpenSSL, and verifies the published files with OpenSSL.
func TestAnAuthorityVouches(t *testing.T) {
	t.Parallel()
	tsa := harness.NewAuthority(t)
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		run := w.Await(w.Submit(script("true")).ID).ID
		url := tsa.URL + "/tsr?account=c4nary"
		first, second := w.anchored(t, "--tsa", url), w.anchored(t, "--tsa", url)
		if kinds(first) != "checkpoint rfc3161" || kinds(second) != "checkpoint rfc3161" || first[1].Size >= second[1].Size {
			t.Fatalf("%+v, %+v", first, second)
		}
		v := intact(t, w.Server)
		if v.Anchored < second[1].Size { // the server stores heads too
			t.Errorf("anchored up to %d, want at least %d", v.Anchored, second[1].Size)
		}
		dir := w.unpacked(t)
		write(t, filepath.Join(dir, "tsa.pem"), read(t, tsa.CA))
		for _, a := range []made{first[1], second[1]} {
			if a.Source != tsa.URL || sealed(t, w.Server).tree(t, read(t, filepath.Join(dir, "anchors", a.ID+".note"))).
				N != a.Size {
				t.Errorf("%+v", a)
			}
			command := step(t, dir, "time-"+a.ID)
			if out, err := shell(t, dir, command); err != nil || !strings.Contains(out, "Verification: OK") {
				t.Errorf("%s: %v\n%s", command, err, out)
			}
			name := filepath.Join(dir, "anchors", a.ID+".note")
			write(t, name, strings.Replace(read(t, name), "— ", "—  ", 1))
			if out, err := shell(t, dir, command); err == nil {
				t.Errorf("a changed note passes: %s", out)
			}
		}
		w.checkRecorded(t, first[1].ID, "c4nary", run)
		for _, path := range []string{"/v1/audit/bundle", "/v1/runs/" + run + "/receipt"} {
			file := saved(t, w.Client, path, "file.json")
			out := must(t, 0, "audit", "verify", file, "--seal", saved(t, w.As(""), "/.well-known/seal.json", "seal.json"))
			if path != "/v1/audit/bundle" && !strings.Contains(out, "anchor") {
				t.Errorf("%s with its anchors: %s", path, out)
			}
		}
	})
}

// checkRecorded checks an anchor in the trail and the documents: its id is there, the secret of an address is not.
func (w *fixture) checkRecorded(t *testing.T, id, secret, run string) {
	t.Helper()
	found := false
	for _, e := range trail(t, w.Server, 0) {
		text := fmt.Sprintf("%+v %s", e, e.Details)
		found = found || e.Action == "audit.anchor" && strings.Contains(text, id)
		if strings.Contains(text, secret) {
			t.Errorf("the trail has the secret of an address: %s", text)
		}
	}
	if !found {
		t.Errorf("no entry tells of the anchor %s", id)
	}
	for path, names := range map[string]bool{"/v1/audit/bundle": true, "/v1/runs/" + run + "/evidence": false} {
		a := w.Do(http.MethodGet, path, nil)
		if a.Status != http.StatusOK || names && !bytes.Contains(a.Body, []byte(id)) ||
			bytes.Contains(a.Body, []byte(secret)) {
			t.Errorf("%s: %d, names the anchor: %t, the secret: %t", path, a.Status, bytes.Contains(a.Body, []byte(id)),
				bytes.Contains(a.Body, []byte(secret)))
		}
	}
}

// TestOutsidersThatFail uses unreachable and refusing authorities and witnesses: the command fails and lists what it
// stored.
func TestOutsidersThatFail(t *testing.T) {
	t.Parallel()
	tsa := harness.NewAuthority(t)
	tsa.Stamps("sha512")
	w := &fixture{Server: harness.Start(t, harness.Options{}), t: t}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	odd := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(odd.Close)
	other := harness.Start(t, harness.Options{})
	stranger := newWitness(t, other) // a witness of another log
	outside := filepath.Join(t.TempDir(), "outside.head")
	for name, c := range map[string]struct {
		flags   []string
		message string
	}{
		"no authority":         {[]string{"--tsa", gone.URL}, "cannot be reached"},
		"a refusal":            {[]string{"--tsa", tsa.URL}, "refused"},
		"what is no authority": {[]string{"--tsa", odd.URL}, "404"},
		"no witness":           {[]string{"--witness", gone.URL, "--witness-key", stranger.vkey}, "cannot be reached"},
		"a witness of another log": {[]string{"--witness", stranger.url, "--witness-key", stranger.vkey},
			"does not trust the key"},
		"a folder that is not there": {[]string{"--head-file", "/nowhere/at/all/head"}, "head file"},
		"one of two":                 {[]string{"--tsa", gone.URL, "--head-file", outside}, "cannot be reached"},
	} {
		before := verify(t, w.Server)
		out, code := writ(t, slices.Concat([]string{"audit", "anchor"}, beside(w.Server), c.flags)...)
		if code != 1 || !strings.Contains(out, c.message) {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
		if !strings.Contains(out, "as checkpoint (anc_") || strings.Contains(out, "as head_file") != (name == "one of two") {
			t.Errorf("%s: what was kept is not said:\n%s", name, out)
		}
		if after := intact(t, w.Server); after.Anchored < before.Count {
			t.Errorf("%s: anchored up to %d of the %d before", name, after.Anchored, before.Count)
		}
	}
	for _, flags := range [][]string{{"--tsa", "ftp://x"}, {"--witness", gone.URL}, {"--witness-key", stranger.vkey},
		{"--witness", gone.URL, "--witness-key", "x+1+x"}} {
		before := newest(t, w.Server)
		if out, code := writ(t, slices.Concat([]string{"audit", "anchor"}, beside(w.Server), flags)...); code != 2 ||
			newest(t, w.Server) != before {
			t.Errorf("%v: exit code %d\n%s", flags, code, out)
		}
	}
}

// TestAWitnessCosigns lets a witness follow the log: from the start, after growth, after this install lost the
// witness's size, and after the witness saw a larger log.
func TestAWitnessCosigns(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := &fixture{Server: harness.Start(t, harness.Options{DB: dbURL}), t: t}
		who := newWitness(t, w.Server)
		flags := []string{"--witness", who.url, "--witness-key", who.vkey}
		for range 2 {
			w.parked()
			list := w.anchored(t, flags...)
			if kinds(list) != "checkpoint witness" || list[1].Source != who.name {
				t.Fatalf("%+v", list)
			}
			dir := w.unpacked(t)
			text := read(t, filepath.Join(dir, "anchors", list[1].ID+".note"))
			if !who.signs(text) || sealed(t, w.Server).tree(t, text).N != list[1].Size {
				t.Errorf("the note of the anchor is\n%s", text)
			}
		}
		sql(t, address(w.Server), "DELETE FROM audit_anchors WHERE kind = 'witness'")
		w.parked()
		w.anchored(t, flags...)
		if got := fmt.Sprint(who.answered()); got != "[200 200 409 200]" {
			t.Errorf("the witness answered %s", got)
		}
		intact(t, w.Server)
		who.mu.Lock()
		who.size += 1000
		who.mu.Unlock()
		if out, code := writ(t, slices.Concat([]string{"audit", "anchor"}, beside(w.Server), flags)...); code != 1 ||
			!strings.Contains(out, "the witness has signed a head of") {
			t.Errorf("a witness that has seen more: exit code %d\n%s", code, out)
		}
	})
}

// TestAHeadIsKeptElsewhere writes the head twice to a file of the operator's choice.
func TestAHeadIsKeptElsewhere(t *testing.T) {
	t.Parallel()
	w := &fixture{Server: harness.Start(t, harness.Options{}), t: t}
	file := filepath.Join(t.TempDir(), "share", "writ.head")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.parked()
		list := w.anchored(t, "--head-file", file)
		if tree := sealed(t, w.Server).tree(t, read(t, file)); kinds(list) != "checkpoint head_file" ||
			tree.N != list[1].Size || !bytes.Equal(tree.Hash[:], list[1].Root) {
			t.Errorf("%+v and the file has %+v", list, tree)
		}
	}
	if v := intact(t, w.Server); v.Anchored < v.Count-1 {
		t.Errorf("%+v", v)
	}
	var out struct{ Anchored int64 }
	text := must(t, 0, append([]string{"audit", "verify", "--json"}, beside(w.Server)...)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil || out.Anchored == 0 {
		t.Errorf("%v: %s", err, text)
	}
}
