package git_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/git"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/waittest"
)

// TestKilledProcess kills a process during a fetch that has already received a part of the pack. Its git ends with it,
// and the next process continues with the previous mirror.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	w, f, r := overTLS(t)
	at := catalog.Repository{ProjectID: "p", URL: "https://127.0.0.1:" + f.port + "/a.git"}
	first := w.fetch(at)
	r.write("more", "x")
	want := r.commit("next")
	reached := make(chan struct{}, 8)
	f.front.Store(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		_, _ = w.Write([]byte("000dpackfile\n0011\x01PACK\x00\x00\x00\x02\x00\x00\x00\x09"))
		w.(http.Flusher).Flush()
		reached <- struct{}{}
		<-r.Context().Done()
		return true
	})
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fetcher+"="+w.dir+"|"+f.ca+"|"+at.URL)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	f.front.Store(func(http.ResponseWriter, *http.Request) bool { return false })
	next, err := git.New(git.Config{Dir: w.dir, CAFile: f.ca, Egress: egress.Policy{Level: egress.PrivateAllowed}})
	if err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, 20*time.Second, "git lives on", func() bool { return len(processes(t, w.dir)) == 0 })
	if text, _, err := next.File(t.Context(), at, first, "site.yml", ""); err != nil || string(text) != "x" {
		t.Errorf("what was there: %q %v", text, err)
	}
	if got, err := next.Fetch(t.Context(), at); err != nil || got != want {
		t.Errorf("%s %v", got, err)
	}
	for _, pattern := range []string{"*.lock", "objects/pack/tmp_*"} {
		if left, err := filepath.Glob(filepath.Join(w.mirror("p"), pattern)); err != nil || len(left) > 0 {
			t.Errorf("%v %v", left, err)
		}
	}
}
