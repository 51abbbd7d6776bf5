package audit

import (
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// brittleMain is the main of the standard binary with a subscriber that can fail.
const brittleMain = "github.com/writ-automation/writ/e2e/extensions/custom"

// deadLetter creates a dead letter and returns its path.
func (w *fixture) deadLetter() string {
	w.t.Helper()
	fail := filepath.Join(w.brittle, "fail")
	write(w.t, fail, "")
	w.Await(w.Submit(script("true")).ID)
	var list struct {
		DeadLetters []struct {
			ID string `json:"id"`
		} `json:"dead_letters"`
	}
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		w.Do(http.MethodGet, "/v1/dead-letters", nil).JSON(w.t, &list)
		if len(list.DeadLetters) > 0 {
			break
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-limit.C:
			w.t.Fatal("there is no dead letter")
		}
	}
	if err := os.Remove(fail); err != nil {
		w.t.Fatal(err)
	}
	return "/v1/dead-letters/" + list.DeadLetters[0].ID
}

// deadLetterCalls prepares the recorded operations on dead letters.
func deadLetterCalls() map[string]func(w *fixture) call {
	return map[string]func(w *fixture) call{
		"retry-dead-letter":  func(w *fixture) call { return call{path: w.deadLetter() + "/retry", object: "dead_letter"} },
		"delete-dead-letter": func(w *fixture) call { return call{path: w.deadLetter(), object: "dead_letter"} },
	}
}
