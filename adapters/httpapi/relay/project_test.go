package relay_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	relayapi "github.com/writ-automation/writ/adapters/httpapi/relay"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
)

// archive writes a file of some bytes and breaks off after so many of them; a negative number is all.
func archive(w io.Writer, content []byte, breakAt int) error {
	a := tar.NewWriter(w)
	if err := a.WriteHeader(&tar.Header{Name: "project/site.yml", Mode: 0o644, Size: int64(len(content))}); err != nil {
		return err
	}
	if breakAt >= 0 {
		if _, err := a.Write(content[:breakAt]); err != nil {
			return err
		}
		return errGone
	}
	if _, err := a.Write(content); err != nil {
		return err
	}
	return a.Close()
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func TestProject(t *testing.T) {
	t.Parallel()
	f := setup(t)
	content := noise(3 << 20)
	f.plane.projects(func(_ context.Context, open func() (io.Writer, error)) error {
		w, err := open()
		if err != nil {
			return err
		}
		return archive(w, content, -1)
	})
	a := f.report("GET", on("/project"), "").Has("Content-Type", "application/x-tar").Has("Cache-Control", "no-store")
	r := tar.NewReader(strings.NewReader(a.Body))
	h, err := r.Next()
	if a.Status != 200 || err != nil || h.Name != "project/site.yml" {
		t.Fatalf("%d %v %v", a.Status, h, err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if a := f.report("HEAD", on("/project"), "").Has("Content-Type", "application/x-tar"); a.Status != 200 ||
		a.Body != "" {
		t.Errorf("HEAD: %d with %d bytes", a.Status, len(a.Body))
	}
}

// TestProjectNotBegun checks that an error before the archive begins is a normal error response.
func TestProjectNotBegun(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, c := range []struct {
		err    error
		status int
		reason string
	}{
		{errGone, 500, "internal"}, {nil, 500, "internal"}, // of nil nobody knows what became of the archive
		{catalog.ProjectNotFound.New("the run names none"), 404, "project_not_found"},
		{catalog.SyncFailed.New("it does not answer"), 409, "sync_failed"},
	} {
		f.plane.projects(func(context.Context, func() (io.Writer, error)) error { return c.err })
		for _, method := range []string{"GET", "HEAD"} {
			a := f.report(method, on("/project"), "")
			if method == "HEAD" {
				if a.Status != c.status {
					t.Errorf("HEAD: %d, want %d", a.Status, c.status)
				}
				continue
			}
			a.Problem(c.status, c.reason)
		}
	}
	f.plane.answer(errors.New("S3CRET"))
	f.report("GET", on("/project"), "").Problem(500, "internal")
}

// TestProjectBrokenOff checks that a client never accepts a truncated archive, however short it is.
func TestProjectBrokenOff(t *testing.T) {
	t.Parallel()
	plane := newFakePlane()
	log := &httpapitest.Log{}
	res, err := httpapi.New(httpapi.Params{
		Config: httpapi.Config{Version: "1", WorkerToken: workerToken}, Authenticator: httpapitest.Guard{},
		Authorizer: httpapitest.Guard{},
		Log:        slog.New(slog.NewJSONHandler(log, nil)), IDs: httpapitest.IDs{}, Unit: httpapitest.Unit{},
		Recorder: &httpapitest.Recorder{},
		Routes:   []httpapi.Routes{relayapi.New(params(plane))},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		srv := httptest.NewUnstartedServer(res.Handler)
		if srv.EnableHTTP2 = protocol == "HTTP/2.0"; srv.EnableHTTP2 {
			srv.StartTLS()
		} else {
			srv.Start()
		}
		for _, size := range []int{0, 100, 5000, 1 << 20} {
			plane.projects(func(_ context.Context, open func() (io.Writer, error)) error {
				w, err := open()
				if err != nil {
					return err
				}
				return archive(w, noise(2<<20), size)
			})
			req, err := http.NewRequestWithContext(t.Context(), "GET", srv.URL+on("/project"), nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+workerToken)
			req.Header.Set(execution.CapabilityHeader, capability)
			resp, err := srv.Client().Do(req)
			if err != nil { // nothing arrived at all
				continue
			}
			got, err := io.ReadAll(resp.Body)
			if _ = resp.Body.Close(); err == nil || resp.StatusCode != 200 || resp.Proto != protocol {
				t.Errorf("%s after %d: %d %s with %d bytes and no error", protocol, size, resp.StatusCode, resp.Proto, len(got))
			}
			if len(got) > size+2048 || size > 5000 && len(got) == 0 {
				t.Errorf("%s after %d: %d bytes", protocol, size, len(got))
			}
		}
		srv.Close()
	}
	if got := log.String(); !strings.Contains(got, "SQLSTATE") || strings.Contains(got, `"msg":"panic"`) {
		t.Errorf("log: %s", got)
	}
}

// TestProjectToHTTP10: where the end of the connection is the end of the answer, a broken archive lacks its own end.
func TestProjectToHTTP10(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for breakAt, whole := range map[int]bool{-1: true, 100: false, 5000: false} {
		f.plane.projects(func(_ context.Context, open func() (io.Writer, error)) error {
			w, err := open()
			if err != nil {
				return err
			}
			return archive(w, noise(10_000), breakAt)
		})
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		request := "GET " + on("/project") + " HTTP/1.0\r\nAuthorization: Bearer " + workerToken + "\r\nRelay-Capability: " +
			capability + "\r\n\r\n"
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if _ = conn.Close(); err != nil {
			t.Fatal(err)
		}
		if ended := bytes.HasSuffix(got, make([]byte, 1024)); ended != whole {
			t.Errorf("after %d: %d bytes with an end: %t", breakAt, len(got), ended)
		}
	}
}
