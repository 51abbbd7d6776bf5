package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plant makes files and, where a text begins with ->, links.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := bytes.CutPrefix([]byte(text), []byte("->")); ok {
			err = os.Symlink(string(target), path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// unpack lists an archive: modes and texts, and the targets of links.
func unpack(t *testing.T, r io.Reader) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = fmt.Sprintf("%c %o %s%s", h.Typeflag, h.Mode, text, h.Linkname)
		if h.Uid != 0 || h.Uname != "" || !h.ModTime.IsZero() && h.ModTime.Unix() != 0 {
			t.Errorf("%s tells of this machine: %+v", h.Name, h)
		}
	}
}

// TestWrite keeps files, directories and links that stay inside, and nothing that leads out.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := plant(t, map[string]string{
		"site.yml": "- hosts: all\n", "bin/tool": "#!", "a/b/c": "", "a/up": "->../site.yml", "a/b/down": "->./c",
		"dangling": "->nowhere",
		"abs":      "->/etc/passwd", "out": "->../x", "a/out": "->../../x", "twice": "->a/b/../../../x",
		"back": "->a/../site.yml",
	})
	if err := os.Chmod(filepath.Join(dir, "bin/tool"), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	var b bytes.Buffer
	left, err := Write(t.Context(), &b, []Part{
		{"project", dir}, {"roles", ""}, {"collections", plant(t, map[string]string{"x/y": "z"})},
	})
	if err != nil || left != 6 {
		t.Fatalf("%d left out: %v", left, err)
	}
	want := map[string]string{
		"project/": "5 755 ", "project/site.yml": "0 644 - hosts: all\n", "project/bin/": "5 755 ",
		"project/bin/tool": "0 755 #!",
		"project/a/":       "5 755 ", "project/a/b/": "5 755 ", "project/a/b/c": "0 644 ",
		"project/a/up":     "2 777 ../site.yml",
		"project/a/b/down": "2 777 ./c", "project/dangling": "2 777 nowhere",
		"collections/": "5 755 ", "collections/x/": "5 755 ", "collections/x/y": "0 644 z",
	}
	if diff := cmp.Diff(want, unpack(t, &b)); diff != "" {
		t.Error(diff)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestWriteFails where nobody takes the archive, nobody waits for it, or a directory is gone.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	parts := []Part{{"project", plant(t, map[string]string{"a": "b"})}}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(t.Context(), broken{}, parts); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("into a closed pipe: %v", err)
	}
	if _, err := Write(over, io.Discard, parts); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := Write(t.Context(), io.Discard, []Part{{"roles", "/no/such/dir"}}); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("of what is gone: %v", err)
	}
}
