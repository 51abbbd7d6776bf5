package ops

import (
	"bytes"
	"errors"
	"net/http"
)

// The marks of the script in the page that verifies files. The script needs no document.
const (
	engineBegin = `<script id="engine">`
	engineEnd   = `</script>`
)

// newEngine returns the script of the page as a module, so that other pages verify with the same code.
func newEngine(page []byte) ([]byte, error) {
	_, rest, found := bytes.Cut(page, []byte(engineBegin))
	script, _, closed := bytes.Cut(rest, []byte(engineEnd))
	if !found || !closed {
		return nil, errors.New("the page that verifies has no script")
	}
	return append(bytes.Clone(script), "export default WritVerify;\n"...), nil
}

// module serves the script.
func (p verifyPage) module(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	_, _ = w.Write(p.engine)
}
