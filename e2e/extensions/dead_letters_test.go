package extensions

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

type letter struct {
	ID         string    `json:"id"`
	Event      string    `json:"event"`
	Subscriber string    `json:"subscriber"`
	Attempts   int       `json:"attempts"`
	Error      string    `json:"error"`
	FirstAt    time.Time `json:"first_at"`
	LastAt     time.Time `json:"last_at"`
}

func (w *fixture) letters(t *testing.T) []letter {
	t.Helper()
	var list struct {
		DeadLetters []letter `json:"dead_letters"`
		Count       int      `json:"count"`
	}
	a := w.Do(http.MethodGet, "/v1/dead-letters", nil)
	a.JSON(t, &list)
	if a.Status != http.StatusOK || list.Count != len(list.DeadLetters) || list.DeadLetters == nil {
		t.Fatalf("the list: %d %s", a.Status, a.Body)
	}
	return list.DeadLetters
}

// failing sets whether the subscriber fails.
func (w *fixture) failing(t *testing.T, on bool) {
	t.Helper()
	path := filepath.Join(w.brittle, "fail")
	err := os.Remove(path)
	if on {
		err = os.WriteFile(path, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lines reads the lines that the subscriber wrote.
func (w *fixture) lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.brittle, file))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// command runs a client command and returns its output.
func (w *fixture) command(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.BinaryOf(t, custom), args...)
	cmd.Env = append(os.Environ(), "WRIT_SERVER="+w.URL, "WRIT_TOKEN="+w.Token)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("writ %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestDeadLetters checks that an event that a subscriber does not handle is stored, shown, retried only for that
// subscriber and deleted, and that other subscribers are not affected.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		w := start(t, db)
		w.failing(t, true)
		run := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "true"}).ID)
		eventually(t, "the notifier is delivered", func() bool { return len(w.noted(t)) == 1 })
		eventually(t, "there is a dead letter", func() bool { return len(w.letters(t)) == 1 })
		first := w.letters(t)[0]
		if first.Event != "runs.run_finished" || first.Subscriber != "brittle" || first.Attempts != 4 ||
			first.Error != "the other side is closed" || first.FirstAt.IsZero() || !first.LastAt.After(first.FirstAt) {
			t.Errorf("the letter is %+v", first)
		}
		w.shown(t, first)

		a := w.Do(http.MethodPost, "/v1/dead-letters/"+first.ID+"/retry", nil)
		if a.Status != http.StatusOK || a.Header.Get("ETag") != `"4"` || a.Header.Get("Audit-Receipt") == "" {
			t.Errorf("retry: %d %s %v", a.Status, a.Body, a.Header)
		}
		eventually(t, "it failed again", func() bool { return w.letters(t)[0].Attempts == 8 })
		if again := w.letters(t)[0]; again.ID != first.ID || !again.FirstAt.Equal(first.FirstAt) ||
			!again.LastAt.After(first.LastAt) {
			t.Errorf("after a retry that failed it is %+v", again)
		}

		w.failing(t, false)
		if out := w.command(t, "dead-letter", "retry", first.ID); out != "retried "+first.ID+"\n" {
			t.Errorf("the command says %q", out)
		}
		eventually(t, "it is handled", func() bool { return len(w.letters(t)) == 0 })
		if handled := w.lines(t, "handled"); !slices.Contains(handled, run.ID) {
			t.Errorf("handled are %v", handled)
		}
		if delivered := w.noted(t); len(delivered) != 1 {
			t.Errorf("the retry reached another subscriber: %+v", delivered)
		}
		w.deleted(t)
	})
}

// shown checks that every view of operators shows a letter.
func (w *fixture) shown(t *testing.T, l letter) {
	t.Helper()
	var report struct {
		OK       bool `json:"ok"`
		Findings []struct {
			Check   string `json:"check"`
			Problem string `json:"problem"`
			Fix     string `json:"fix"`
			Object  struct {
				Kind string `json:"kind"`
				ID   string `json:"id"`
			} `json:"object"`
		} `json:"findings"`
	}
	w.Do(http.MethodGet, "/v1/doctor", nil).JSON(t, &report)
	found := false
	for _, f := range report.Findings {
		found = found || f.Check == "dead_letters" && f.Object.Kind == "dead_letter" && f.Object.ID == l.ID &&
			strings.Contains(f.Problem, l.Error) && strings.Contains(f.Fix, "writ dead-letter retry "+l.ID)
	}
	if report.OK || !found {
		t.Errorf("the doctor finds %+v", report)
	}
	if metrics := string(w.Do(http.MethodGet, "/metrics", nil).Body); !strings.Contains(metrics,
		"\nwrit_dead_letters 1\n") {
		t.Error("the metric does not count the letter")
	}
	if out := w.command(t, "dead-letter", "list"); !strings.Contains(out, l.ID) || !strings.Contains(out, l.Error) {
		t.Errorf("the command lists %q", out)
	}
}

// deleted deletes a letter.
func (w *fixture) deleted(t *testing.T) {
	t.Helper()
	w.failing(t, true)
	run := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "true"}).ID)
	eventually(t, "there is a dead letter", func() bool { return len(w.letters(t)) == 1 })
	w.failing(t, false)
	path := "/v1/dead-letters/" + w.letters(t)[0].ID
	if a := w.Do(http.MethodDelete, path, nil, "If-Match", `"3"`); a.Status != http.StatusPreconditionFailed {
		t.Errorf("delete of another state: %d %s", a.Status, a.Body)
	}
	if a := w.Do(http.MethodDelete, path, nil, "If-Match", `"4"`); a.Status != http.StatusNoContent ||
		a.Header.Get("Audit-Receipt") == "" {
		t.Errorf("delete: %d %s", a.Status, a.Body)
	}
	for method, gone := range map[string]string{http.MethodDelete: path, http.MethodPost: path + "/retry"} {
		if a := w.Do(method, gone, nil); a.Status != http.StatusNotFound ||
			!strings.Contains(string(a.Body), "dead_letter_not_found") {
			t.Errorf("%s of a deleted letter: %d %s", method, a.Status, a.Body)
		}
	}
	if handled := w.lines(t, "handled"); len(w.letters(t)) != 0 || slices.Contains(handled, run.ID) {
		t.Errorf("handled are %v", handled)
	}
}

// TestKilledBeforeTheDeadLetter kills a server between a failure and its dead letter. Neither is lost.
func TestKilledBeforeTheDeadLetter(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, db string) {
		w := start(t, db)
		w.failing(t, true)
		run := w.Await(w.Submit(harness.Body{"tool": "bash", "command": "true"}).ID)
		eventually(t, "it failed once", func() bool { return slices.Contains(w.lines(t, "tried"), run.ID) })
		w.Kill() // the four attempts take two seconds
		tried := len(w.lines(t, "tried"))
		w.Server = w.Again()
		eventually(t, "there is a dead letter", func() bool { return len(w.letters(t)) == 1 })
		if l := w.letters(t)[0]; l.Attempts != 4 || len(w.lines(t, "tried")) != tried+4 {
			t.Errorf("%d attempts before and %d in all, and the letter is %+v", tried, len(w.lines(t, "tried")), l)
		}
		w.Kill()
		w.failing(t, false)
		w.Server = w.Again()
		w.command(t, "dead-letter", "retry", "--all")
		eventually(t, "it is handled", func() bool {
			return len(w.letters(t)) == 0 && slices.Contains(w.lines(t, "handled"), run.ID)
		})
	})
}
