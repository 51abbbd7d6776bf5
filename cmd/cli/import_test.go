package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportTooSlow: a server that gives an import up leads to the import in parts.
func TestImportTooSlow(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/import/{format}", func(w http.ResponseWriter, _ *http.Request) {
		f.answer(w, http.StatusServiceUnavailable, obj{"error": "the unit of work took too long"})
	})
	mux.Handle("/", f.Config.Handler)
	f.Config.Handler = f.capture(mux)
	file := filepath.Join(t.TempDir(), "export.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := call(t, f, "import", "awx", file, "--apply")
	if code != exitFailed || out != "" || !strings.Contains(errs, "took too long") || !strings.Contains(errs, "--parts") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	f.asked(t, "POST /v1/import/awx?apply=true&file=export.json ")
}
