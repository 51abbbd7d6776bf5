// Package assets holds the style sheets and the scripts of the web interface.
//
// All files are served below a path that contains a hash of all of them, so browsers keep them for ever and never mix
// files of two builds. Scripts name each other by relative paths. The style sheets are joined into one file, in the
// order of their names.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed css js
var embedded embed.FS

// Pattern is the pattern of the routes of the files.
const Pattern = "/ui/a/{hash}/{name...}"

// Style is the name of the joined style sheets.
const Style = "ui.css"

// file is one file and its packed form, which is made when it is first asked for.
type file struct {
	media  string
	plain  []byte
	once   sync.Once
	packed []byte
}

// Files serves the files.
type Files struct {
	hash  string
	files map[string]*file
}

// New reads the embedded files.
func New() (*Files, error) {
	f := &Files{files: map[string]*file{}}
	sum := sha256.New()
	var style bytes.Buffer
	err := fs.WalkDir(embedded, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := embedded.ReadFile(name)
		if err != nil {
			return err //nolint:wrapcheck // wrapped below
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(text))
		sum.Write(text)
		switch path.Ext(name) {
		case ".css":
			style.Write(text)
		case ".js":
			f.files[strings.TrimPrefix(name, "js/")] = &file{media: "text/javascript; charset=utf-8", plain: text}
		default:
			f.files[strings.TrimPrefix(name, "js/")] = &file{media: "text/plain; charset=utf-8", plain: text}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the assets of the web interface: %w", err)
	}
	f.files[Style] = &file{media: "text/css; charset=utf-8", plain: style.Bytes()}
	f.hash = hex.EncodeToString(sum.Sum(nil))[:16]
	return f, nil
}

// Path returns the path under which a file is served.
func (f *Files) Path(name string) string { return "/ui/a/" + f.hash + "/" + name }

// Names calls yield with each file and its size, plain and packed.
func (f *Files) Names(yield func(name string, plain, packed int)) {
	for name, x := range f.files {
		yield(name, len(x.plain), len(x.gzip()))
	}
}

// ServeHTTP serves a file. Under the hash of another build there is nothing.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := f.files[r.PathValue("name")]
	if x == nil || r.PathValue("hash") != f.hash {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", x.media)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		_, _ = w.Write(x.gzip())
		return
	}
	_, _ = w.Write(x.plain)
}

func (x *file) gzip() []byte {
	x.once.Do(func() {
		var b bytes.Buffer
		// Neither a buffer nor a known level fails.
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		_, _ = z.Write(x.plain)
		_ = z.Close()
		x.packed = b.Bytes()
	})
	return x.packed
}
