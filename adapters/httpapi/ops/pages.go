package ops

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"net/http"
	"strings"

	"github.com/writ-automation/writ/adapters/httpapi"
)

//go:embed assets
var assets embed.FS

// pagePolicy lets a page load only from its own origin. The reference page uses inline images.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// maxAsset bounds the unpacked size of an embedded asset.
const maxAsset = 16 << 20

func html(w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	_, _ = w.Write(b)
}

func docs(w http.ResponseWriter, r *http.Request) {
	b, err := assets.ReadFile("assets/docs.html")
	if err != nil {
		unknown(w, r)
		return
	}
	html(w, b)
}

// asset serves the files that the reference page names, and no others of the folder.
func asset(w http.ResponseWriter, r *http.Request) { serve(w, r, r.PathValue("asset")) }

// assetTypes maps the served files to their media types.
func assetTypes() map[string]string {
	return map[string]string{
		"swagger-ui-bundle.js": "text/javascript; charset=utf-8", "swagger-ui.css": "text/css; charset=utf-8",
		"init.js":                "text/javascript; charset=utf-8",
		"LICENSE.swagger-ui.txt": "text/plain; charset=utf-8",
	}
}

func serve(w http.ResponseWriter, r *http.Request, name string) {
	media, ok := assetTypes()[name]
	if !ok {
		unknown(w, r)
		return
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "no-cache")
	if b, err := assets.ReadFile("assets/" + name); err == nil {
		_, _ = w.Write(b)
		return
	}
	packed, err := assets.ReadFile("assets/" + name + ".gz")
	if err != nil {
		unknown(w, r)
		return
	}
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed)
		return
	}
	if z, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
		_, _ = io.Copy(w, io.LimitReader(z, maxAsset))
	}
}

func unknown(w http.ResponseWriter, r *http.Request) {
	httpapi.Refuse(w, r, http.StatusNotFound, "not_found", "there is nothing under this path")
}
