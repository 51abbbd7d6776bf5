package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

var tokenForm = regexp.MustCompile(`writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}`)

// TestCrashOfAFirstStart kills a first start after each of its commits. The next start prints a token, or says how to
// make one, as the one of the killed start may exist and was not printed. Once a token was used, a start says nothing.
func TestCrashOfAFirstStart(t *testing.T) {
	t.Parallel()
	const advice = "writ token reset-admin --db"
	warned := 0
	for n := 1; ; n++ {
		arm := filepath.Join(t.TempDir(), "arm")
		if err := os.WriteFile(arm, []byte(strconv.Itoa(n)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _ := harness.Launch(t, harness.Options{Tags: []string{"crashpoints"}, Flags: []string{"--executors", "0"},
			Env: []string{"WRIT_CRASH_POINT=unit-after-commit", "WRIT_CRASH_ARM=" + arm}})
		if err := os.Remove(arm); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Try(http.MethodGet, "/v1/auth/me", nil); err == nil { // it was not killed, and the token is used
			s.Stop()
			if again := s.Again(); strings.Contains(again.Output(), advice) {
				t.Errorf("a start after the token was used warns:\n%s", again.Output())
			}
			t.Logf("a first start has %d commits", n-1)
			break
		}
		again := s.Again()
		if tokenForm.MatchString(s.Output()) {
			continue
		}
		now, says := tokenForm.MatchString(again.Output()), strings.Contains(again.Output(), advice)
		if now == says {
			t.Errorf("killed after the commit %d: the next start prints a token: %t, and says how to make one: %t\n%s", n, now,
				says, again.Output())
		}
		if says {
			warned++
		}
		again.Stop()
	}
	if t.Logf("%d starts warned", warned); warned == 0 {
		t.Error("no start was killed between the commit of the token and its print")
	}
}
