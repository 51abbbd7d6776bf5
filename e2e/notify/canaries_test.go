package notify

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/writ-automation/writ/e2e/harness"
)

const (
	// mark is in every secret part of the targets: addresses, their queries and accounts, keys, tokens and the password
	// of the mail server. It is letters and digits, which URLs and JSON do not encode.
	mark = "Zx7QpLm3VtRk9"
	// bait is in public parts, and shows that the search works.
	bait = "Bq4WnHs8YdTf2"
)

// forms are the searched forms of a text: itself, hex, and its base64 at each alignment without the characters that
// neighbouring bytes affect.
func forms(text string) []string {
	out := []string{text, hex.EncodeToString([]byte(text))}
	for offset := range 3 {
		raw := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), text...))
		end := len(raw) - count((offset+len(text))%3 != 0)
		out = append(out, raw[(offset*8+5)/6:end])
	}
	return out
}

// containsForm reports whether a text holds another in one of its forms.
func containsForm(raw []byte, text string) bool {
	for _, f := range forms(text) {
		if bytes.Contains(raw, []byte(f)) {
			return true
		}
	}
	return false
}

// search is a place to search for the marks.
type search struct {
	t     *testing.T
	baits int
	zstd  *zstd.Decoder
}

func (s *search) look(where string, raw []byte) {
	s.t.Helper()
	if containsForm(raw, mark) {
		at := max(0, bytes.Index(raw, []byte(mark)))
		s.t.Errorf("LEAK: %s holds a secret: ...%q...", where, raw[max(0, at-200):min(len(raw), at+100)])
	}
	if containsForm(raw, bait) {
		s.baits++
	}
	if at := bytes.Index(raw, []byte{0x28, 0xb5, 0x2f, 0xfd}); at >= 0 && len(raw) < 1<<20 {
		if plain, err := s.zstd.DecodeAll(raw[at:], nil); err == nil {
			s.look(where+", unpacked,", plain)
		}
	}
}

// found fails the test if the bait was not found since the last call.
func (s *search) found(where string) {
	s.t.Helper()
	if s.baits == 0 {
		s.t.Errorf("%s: not even the bait was found", where)
	}
	s.baits = 0
}

// TestSecretsOfTargetsAreNowhere searches the database, the files, the log and all answers after runs notified targets
// of every kind, with and without success.
func TestSecretsOfTargetsAreNowhere(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		in := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) { // repeats the requests that it receives
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasPrefix(r.URL.Path, "/redirect"):
				http.Redirect(w, r, "http://127.0.0.1:1/"+mark, http.StatusTemporaryRedirect)
			case strings.HasPrefix(r.URL.Path, "/bad"):
				w.WriteHeader(http.StatusForbidden)
			}
			_, _ = fmt.Fprintf(w, `{"error": %q, "auth": %q}`, r.URL.RequestURI()+" is unknown", r.Header.Get("Authorization"))
		})
		post := newPostOffice(t)
		server := strings.Replace(in.URL, "//", "//"+mark+":"+mark+"@", 1)
		w := newFixture(t, harness.Options{DB: dbURL,
			Env: []string{"WRIT_SMTP_PASSWORD=" + mark, "WRIT_TWILIO_TOKEN=" + mark}, Flags: []string{
				"--notify-webhook", server + "/good/" + mark, "--notify-webhook", in.URL + "/bad/" + mark + "?k=" + mark,
				"--log-level", "debug",
				"--notify-grafana", in.URL + "/good/" + mark + "," + mark, "--notify-on", "finish", "--smtp-addr", post.addr,
				"--smtp-from", "writ@example.com", "--smtp-username", "mailer", "--notify-email", "ops@example.com",
				"--twilio-sid", "AC0123", "--twilio-from", "+4900",
			}})
		targets := []obj{{"kind": "pagerduty", "key": mark}}
		for _, path := range []string{"/good/", "/bad/", "/redirect/"} {
			for _, kind := range []string{"webhook", "slack", "mattermost", "rocketchat", "discord", "teams", "ntfy"} {
				targets = append(targets, obj{"kind": kind,
					"url": in.URL + path + mark + "%2F" + kind + "?t=" + mark + "&x=a+b#" + mark, "key": mark + "-" + kind})
			}
			targets = append(targets, obj{"kind": "grafana", "url": server + path + mark, "key": mark})
		}
		targets = append(targets, hook("http://10.0.0.1/"+mark), hook("http://127.77.3.3:1/"+mark),
			hook("http://127.0.0.1:99999/"+mark))
		body := script("echo "+bait, targets...)
		body["name"] = bait
		runs := []string{w.Submit(body).ID}
		held := script("true", targets...)
		held["require_approval"] = true
		runs = append(runs, w.Submit(held).ID)
		tpl := w.id("/v1/templates", obj{"name": bait, "tool": "bash", "command": "true", "notifications": targets})
		w.id("/v1/schedules", obj{"name": bait, "cron": "@yearly", "run": script("true", targets...)})
		runs = append(runs, w.want(http.StatusCreated, http.MethodPost, "/v1/templates/"+tpl+"/launch", obj{})["id"].(string))
		runs = append(runs, w.Act("/v1/runs/"+runs[0]+"/rerun").ID)
		w.want(http.StatusOK, http.MethodPut, "/v1/templates/"+tpl,
			obj{"name": bait, "tool": "bash", "command": "echo 1", "notifications": targets[:3]})
		w.Do(http.MethodPost, "/v1/runs", script("true", obj{"kind": "webhook", "url": "ftp://" + mark, "key": mark}))
		w.answer(http.StatusOK, http.MethodPost, "/v1/runs/"+runs[1]+"/approve", nil)
		for _, id := range runs {
			w.ends(id, "succeeded")
			n := (len(targets) + 4) * (1 + count(id == runs[1]))
			harness.Eventually(t, awhile, "all were tried", func() bool {
				tried := 0
				for _, x := range w.notifications(id) {
					tried += count(x.Status != "pending" || x.Reason != "")
				}
				return tried == n
			})
		}
		unpack, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer unpack.Close()
		s := &search{t: t, zstd: unpack}
		w.answers(s, runs)
		w.rows(s)
		w.files(s)
		w.Stop()
		w.files(s)
		s.look("the log", []byte(w.Output()))
	})
}

// answers searches all answers of the API.
func (w *fixture) answers(s *search, runs []string) {
	w.t.Helper()
	paths := []string{
		"/metrics", "/v1/audit?limit=1000", "/v1/audit/bundle", "/v1/audit/bundle?format=tiles", "/v1/audit/verify",
		"/v1/runs?limit=1000", "/v1/templates",
		"/v1/schedules", "/v1/doctor", "/v1/workers",
	}
	for _, id := range runs {
		for _, part := range []string{
			"", "/notifications", "/evidence?format=json", "/evidence?format=html", "/receipt?sparse", "/logs", "/events",
			"/why", "/compare?with=" + runs[0],
		} {
			paths = append(paths, "/v1/runs/"+id+part)
		}
	}
	for _, path := range paths {
		a := w.Do(http.MethodGet, path, nil)
		if a.Status >= 300 && a.Status != http.StatusNotFound {
			w.t.Errorf("%s: %d %.200s", path, a.Status, a.Body)
		}
		s.look(path, a.Body)
		s.look("the header of "+path, []byte(fmt.Sprint(a.Header)))
	}
	s.found("the answers")
}

// rows searches every column of every table.
func (w *fixture) rows(s *search) {
	w.t.Helper()
	w.Cells(func(table, column string, value []byte) { s.look("the column "+table+"."+column, value) })
	s.found("the rows")
	if kept := w.Column("SELECT sealed FROM notify_targets"); len(kept) < 20 {
		w.t.Errorf("%d targets are kept", len(kept))
	}
}

// files searches every file below the server's directory, including the write-ahead log of SQLite.
func (w *fixture) files(s *search) {
	w.t.Helper()
	err := filepath.WalkDir(w.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // the file was removed meanwhile
		}
		if raw, err := os.ReadFile(path); err == nil {
			s.look(path, raw)
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
	if strings.HasSuffix(w.DB, ".db") {
		s.found("the files")
	}
}
