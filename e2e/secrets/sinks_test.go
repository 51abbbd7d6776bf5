package secrets_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// everywhere requests every readable path with every matching id, and searches the answers. It returns the number of
// answers.
func (c *canaryCredentials) everywhere(runs []string) (answers int) {
	c.t.Helper()
	var doc struct {
		Paths map[string]map[string]any
	}
	c.w.Do(http.MethodGet, "/openapi.json", nil).JSON(c.t, &doc)
	ids := c.w.idsOf(runs)
	look := func(path string) {
		a := c.w.Do(http.MethodGet, path, nil)
		c.search(path, a.Body)
		for name, values := range a.Header {
			c.search(path+" "+name, []byte(strings.Join(values, "\n")))
		}
		if a.Status == http.StatusOK {
			answers++
		}
	}
	for path, ops := range doc.Paths {
		resource, rest, of := strings.Cut(path, "/{id}")
		switch {
		case ops["get"] == nil, strings.HasSuffix(path, "/stream"):
		case of:
			for _, id := range ids[resource] {
				look(resource + "/" + id + rest)
			}
		case !strings.Contains(path, "{"):
			look(path)
		}
	}
	for _, id := range runs {
		for _, query := range []string{
			"/events?download=1", "/logs?tail=100000", "/logs?download=1", "/evidence?format=html", "/evidence?format=json",
			"/logs/find?q=telling",
			"/compare?with=" + runs[0], "/compare?with=prev", "/receipt?sparse=true",
		} {
			look("/v1/runs/" + id + query)
		}
	}
	for _, path := range []string{"/v1/audit/bundle?format=tiles", "/v1/audit?limit=1000", "/v1/runs?limit=1000",
		"/v1/runs?q=" + "told", "/v1/audit/register?from=1"} {
		look(path)
	}
	return answers
}

// idsOf lists ids by the path of their resource.
func (w *fixture) idsOf(runs []string) map[string][]string {
	w.t.Helper()
	out := map[string][]string{"/v1/runs": runs}
	for path, key := range map[string]string{
		"/v1/credentials": "credentials", "/v1/credential-types": "credential_types", "/v1/templates": "templates",
		"/v1/inventories": "inventories",
	} {
		list, _ := w.want(http.StatusOK, http.MethodGet, path, nil)[key].([]any)
		for _, o := range list {
			out[path] = append(out[path], o.(map[string]any)["id"].(string))
		}
	}
	return out
}

// files searches every file below directories, and the names of the files.
func (f *canaries) files(dirs ...string) (seen int) {
	f.t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || f.search("a path", []byte(path)) || !e.Type().IsRegular() {
				return nil //nolint:nilerr // the file was removed meanwhile
			}
			seen++
			if b, err := os.ReadFile(path); err == nil {
				f.search(path, b)
			}
			return nil
		})
		if err != nil {
			f.t.Error(err)
		}
	}
	return seen
}

// database searches every column of every table, compressed content included.
func (c *canaryCredentials) database() (rows int) {
	c.t.Helper()
	unpack, err := zstd.NewReader(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer unpack.Close()
	return c.w.Cells(func(table, column string, value []byte) {
		where := "the column " + table + "." + column
		c.search(where, value)
		if at := bytes.Index(value, []byte{0x28, 0xb5, 0x2f, 0xfd}); at >= 0 {
			if plain, err := unpack.DecodeAll(value[at:], nil); err == nil {
				c.search(where+", unpacked,", plain)
			}
		}
	})
}

// watch searches all command lines of the machine, and the environments and directories that another user can read,
// until stop is called. stop returns the number of searches.
func (f *canaries) watch(dirs ...string) (stop func() (lines, stranger int)) {
	var quit atomic.Bool
	var work sync.WaitGroup
	var lines, stranger int
	work.Go(func() {
		seen := map[string]bool{} // command lines without a canary
		for ; !quit.Load(); lines++ {
			f.commandLines(seen)
			<-time.After(25 * time.Millisecond)
		}
	})
	work.Go(func() {
		for ; !quit.Load(); stranger++ {
			if found := f.stranger(dirs...); found != "" {
				f.t.Errorf("LEAK: another user finds a canary in %s", found)
			}
			<-time.After(depthtest.Of(300*time.Millisecond, 150*time.Millisecond))
		}
	})
	end := func() {
		quit.Store(true)
		work.Wait()
	}
	f.t.Cleanup(end)
	return func() (int, int) {
		end()
		return lines, stranger
	}
}

// commandLines searches the command lines of all processes except those already searched.
func (f *canaries) commandLines(seen map[string]bool) {
	proc, err := os.Open("/proc")
	if err != nil {
		f.t.Error(err)
		return
	}
	list, err := proc.Readdirnames(-1)
	if _ = proc.Close(); err != nil {
		f.t.Error(err)
	}
	for _, name := range list {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if b, err := os.ReadFile("/proc/" + name + "/cmdline"); err == nil && !seen[string(b)] {
			seen[string(b)] = !f.search("a command line", b)
		}
	}
}

// stranger searches environments, command lines and directories as an unprivileged user.
func (f *canaries) stranger(dirs ...string) string {
	c := exec.Command("/bin/sh", append([]string{"-c",
		`exec grep -raslF -f - /proc/[0-9]*/environ /proc/[0-9]*/cmdline "$@"`, "sh"}, dirs...)...)
	var needles strings.Builder
	for needle := range f.needle {
		needles.WriteString(needle + "\n")
	}
	c.Stdin, c.Dir = strings.NewReader(needles.String()), "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := c.Output()
	if c.ProcessState == nil {
		f.t.Errorf("look as another user: %v", err)
	}
	return string(out)
}

// receiver receives notifications.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	got      bytes.Buffer
	requests int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests++
		r.got.Write(b)
		_ = q.Header.Write(&r.got)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) text() (string, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String(), r.requests
}

// streamed returns the whole stream of a run.
func (w *fixture) streamed(id string) []byte {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	var b bytes.Buffer
	w.Stream(ctx, id, "", func(f harness.Frame) bool {
		b.WriteString(f.Data + "\n")
		return f.Event != "end"
	})
	return slices.Clone(b.Bytes())
}
