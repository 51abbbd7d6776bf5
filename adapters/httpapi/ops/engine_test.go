package ops

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEngineIsThatOfThePage compares the module with the script of the page that verifies.
func TestEngineIsThatOfThePage(t *testing.T) {
	t.Parallel()
	p, err := newVerifyPage()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	p.module(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/verify/engine.js", nil))
	script, found := bytes.CutSuffix(w.Body.Bytes(), []byte("export default WritVerify;\n"))
	if !found || !bytes.Contains(p.text, []byte(engineBegin+string(script)+engineEnd)) {
		t.Errorf("the module has %d bytes that the page does not have", w.Body.Len())
	}
	if media := w.Header().Get("Content-Type"); !strings.HasPrefix(media, "text/javascript") {
		t.Errorf("the module is %s", media)
	}
	if _, err := newEngine([]byte("<script>x</script>")); err == nil {
		t.Error("a page without the script has a module")
	}
}
