package inventory_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/inventory"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/platform/egress/egresstest"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/depthtest"
)

// home allows only the server of the test in the loopback network.
func home(c *inventory.Config) {
	c.Egress = egress.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func at(url string) catalog.Collection {
	return catalog.Collection{Kind: catalog.HTTPSource, Config: catalog.SourceConfig{
		URL: url, Headers: map[string]string{"Authorization": "Bearer c4nary", "x-api-key": "c4nary"},
	}}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	k := collector(t, home)
	listing := `{"_meta":{"hostvars":{"h":{"n":1.10}}},"web":["h"]}`
	for name, c := range map[string]struct {
		media, body, want string
		format            catalog.Format
	}{
		"a listing":             {"application/json", listing, `{"all":{},"web":{"hosts":{"h":{"n":1.10}}}}`, catalog.JSON},
		"a listing unannounced": {"", listing, `{"all":{},"web":{"hosts":{"h":{"n":1.10}}}}`, catalog.JSON},
		"JSON as Ansible's":     {"application/json; charset=utf-8", `{"all":{"hosts":{"h":{}}}}`, "", catalog.JSON},
		"JSON of a kind":        {"application/vnd.acme+json", `{"web":{"children":{"a":{}}}}`, "", catalog.JSON},
		"YAML":                  {"application/yaml", "all:\n  hosts: {h: {}}\n", "", catalog.YAML},
		"YAML as text":          {"text/plain", "---\nall:\n", "", catalog.YAML},
		"INI":                   {"text/plain; charset=utf-8", "[web]\nh\n", "", catalog.INI},
		"INI as bytes":          {"application/octet-stream", "h ansible_host=10.0.0.1\n", "", catalog.INI},
		"an ill type":           {"/;;", "[web]\nh\n", "", catalog.INI},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer c4nary" || r.Header.Get("X-Api-Key") != "c4nary" ||
					r.Method != http.MethodGet {
					w.WriteHeader(http.StatusForbidden)
				}
				w.Header()["Content-Type"] = []string{c.media}
				_, _ = io.WriteString(w, c.body)
			})
			if c.want == "" {
				c.want = c.body
			}
			if got, format := collect(t, k, at(s.URL+"/x?token=c4nary#part")); got != c.want || format != c.format {
				t.Errorf("%s %s", format, got)
			}
		})
	}
}

func TestDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	k := collector(t, home)
	answer := func(status int, media, body string) string {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
		return s.URL
	}
	refused(t, k, at(answer(404, "application/json", "c4nary")), "status 404")
	refused(t, k, at(answer(500, "text/plain", "c4nary")), "status 500")
	refused(t, k, at(answer(206, "text/plain", "h1")), "status 206")
	refused(t, k, at(answer(200, "text/html; charset=utf-8", "<html>c4nary")), "web page")
	refused(t, k, at(answer(200, "application/json", "{c4nary")), "JSON")
	refused(t, k, at(answer(200, "application/json", `{"_meta":{},"web":{"hosts":[1]}}`)), "group web")
	closed := serve(t, func(http.ResponseWriter, *http.Request) {})
	closed.Close()
	refused(t, k, at(closed.URL+"/?c4nary"), "cannot be reached")
	for _, url := range []string{
		"", "ftp://example.com/x", "file:///etc/passwd", "example.com/x", "http://", "http://a:c4nary@example.com",
		"http://2130706433/", "gopher://x", "http://%zz",
	} {
		refused(t, k, at(url), "url")
	}
	for name, value := range map[string]string{
		"Host": "x", "content-length": "5", "a b": "x", "a\r\nb": "x", "": "x", "X": "c4nary\r\nY: z", "Y": "a\x00",
		"Z":                 strings.Repeat("x", 40<<10),
		"Transfer-Encoding": "chunked",
	} {
		c := at("http://example.com/")
		c.Config.Headers = map[string]string{name: value}
		refused(t, k, c, "header")
	}
}

// TestHostileServers uses servers that redirect to internal addresses, and servers whose responses never end.
// Keeps T11.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	count := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	guarded := &httptest.Server{Listener: l, Config: &http.Server{Handler: count, ReadHeaderTimeout: time.Minute}}
	guarded.Start()
	t.Cleanup(guarded.Close)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	k := collector(t, func(c *inventory.Config) {
		home(c)
		c.Resolver = egresstest.NewNames(t, map[string][]string{
			"inside.example.com": {"127.0.0.2"}, "metadata.example.com": {"169.254.169.254"},
			"private.example.com": {"10.0.0.1"},
		}).Resolver()
	})
	for _, to := range []string{
		"http://169.254.169.254/latest/meta-data/", "http://127.0.0.2:" + port, "http://inside.example.com:" + port,
		"http://metadata.example.com/",
		"http://private.example.com/",
		"http://[::ffff:127.0.0.2]:" + port, "http://[::1]:" + port, "http://10.1.2.3/", "http://192.168.1.1/",
	} {
		refused(t, k, at(to), "not allowed")
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		refused(t, k, at(s.URL), "not allowed")
	}
	for _, to := range []string{"file:///etc/passwd", "http://0x7f.2:" + port, "ftp://127.0.0.2:" + port,
		"http://a:b@127.0.0.2:" + port} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		refused(t, k, at(s.URL), "not allowed")
	}
	var loop *httptest.Server
	loop = serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, loop.URL+r.URL.Path+"x", http.StatusFound)
	})
	refused(t, k, at(loop.URL), "not allowed")
	if hits.Load() > 0 {
		t.Error("what is guarded was reached")
	}
	endless := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for b := bytes.Repeat([]byte("host\n"), 1000); ; {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	})
	refused(t, k, at(endless.URL), "more than")
	bomb := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range depthtest.Of(catalog.MaxInventory>>20+4, 100) {
			_, _ = z.Write(make([]byte, 1<<20))
		}
		_ = z.Close()
	})
	refused(t, k, at(bomb.URL), "more than")
}

// TestHeadersStayHome redirects to another server, which must not get the source's headers.
func TestHeadersStayHome(t *testing.T) {
	t.Parallel()
	k := collector(t, home)
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(fmt.Sprint(r.Header), "c4nary") {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, "h1\n")
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if got, _ := collect(t, k, at(s.URL)); got != "h1\n" {
		t.Error(got)
	}
}

func TestSlowServers(t *testing.T) {
	t.Parallel()
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	slow := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "h1\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	k := collector(t, func(c *inventory.Config) { home(c); c.Timeout = 200 * time.Millisecond })
	for _, s := range []*httptest.Server{silent, slow} {
		refused(t, k, at(s.URL), "did not answer")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if _, _, err := collector(t, home).Collect(ctx, at(s.URL)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
}

func TestFilesOfProjects(t *testing.T) {
	t.Parallel()
	k := collector(t, nil)
	tree := t.TempDir()
	for name, text := range map[string]string{
		"hosts": "[web]\nh1\n", "hosts.yml": "all:\n", "inventory/x.json": `{"all":{}}`, "odd": "all:\n  hosts:\n",
		"plain.ini": "{}", "A.YAML": "x",
	} {
		write(t, filepath.Join(tree, name), text, 0o644)
	}
	if err := errors.Join(os.Symlink("../hosts", filepath.Join(tree, "inventory/near")),
		os.Symlink("/etc/passwd", filepath.Join(tree, "far")),
		os.Symlink("..", filepath.Join(tree, "up")), syscall.Mkfifo(filepath.Join(tree, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]catalog.Format{
		"hosts": catalog.INI, "hosts.yml": catalog.YAML, "inventory/x.json": catalog.JSON, "odd": catalog.YAML,
		"plain.ini": catalog.INI, "A.YAML": catalog.YAML,
		"inventory/near": catalog.INI, "./inventory/../hosts": catalog.INI,
	} {
		if _, format := collect(t, k, catalog.Collection{Kind: catalog.ProjectSource, Tree: tree,
			Path: path}); format != want {
			t.Errorf("%s is %s", path, format)
		}
	}
	write(t, filepath.Join(tree, "program"), "#!/bin/sh\n", 0o755)
	write(t, filepath.Join(tree, "large"), strings.Repeat("x", catalog.MaxInventory+1), 0o644)
	for path, phrase := range map[string]string{
		"inventory": "not a file", ".": "not a file", "": "no path", "none": "no file", "far": "no file", "up": "no file",
		"../x": "no file", "/etc/passwd": "no file",
		"up/etc": "no file", "pipe": "not a file", "program": "program", "large": "more than", "hosts\x00": "no file",
		"hosts/x": "no file",
	} {
		refused(t, k, catalog.Collection{Kind: catalog.ProjectSource, Tree: tree, Path: path}, phrase)
	}
	const group = "[web]\n"
	write(t, filepath.Join(tree, "fits"), group+strings.Repeat("x", catalog.MaxInventory-len(group)), 0o644)
	if got, _ := collect(t, k, catalog.Collection{Kind: catalog.ProjectSource, Tree: tree, Path: "fits"}); len(
		got) != catalog.MaxInventory {
		t.Error(len(got))
	}
	refused(t, k, catalog.Collection{Kind: catalog.ProjectSource, Path: "hosts"}, "no path")
}
