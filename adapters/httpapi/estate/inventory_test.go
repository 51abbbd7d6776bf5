package estate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi"
	estateapi "github.com/writ-automation/writ/adapters/httpapi/estate"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
)

// fakeQueries yields n hosts and then fails with err.
type fakeQueries struct {
	estate.HostQueries
	n     int
	err   error
	query string
}

func (f *fakeQueries) Inventory(_ context.Context, query string, yield func(string, map[string]any) error) error {
	f.query = query
	for i := range f.n {
		if err := yield(fmt.Sprintf("h%d <\"", i), map[string]any{"ansible_port": i}); err != nil {
			return err
		}
	}
	return f.err
}

func TestInventory(t *testing.T) {
	t.Parallel()
	q := &fakeQueries{}
	f := httpapitest.Serve(t, httpapi.Config{Version: "1"},
		estateapi.New(estateapi.Params{Ignores: &fakeIgnores{}, Queries: q}))
	const path = "/v1/estate/inventory"
	f.Call("GET", path, "viewer", "").Is(200, `{"_meta":{"hostvars":{}},"all":{"hosts":[]}}`)
	q.n = 2
	f.Call("GET", path+"?q=os.family%3DDebian", "viewer", "").Has("Content-Type", "application/json").
		Is(200, `{"_meta":{"hostvars":{"h0 <\"":{"ansible_port":0},"h1 <\"":{"ansible_port":1}}},`+
			`"all":{"hosts":["h0 <\"","h1 <\""]}}`)
	if q.query != "os.family=Debian" {
		t.Errorf("asked %q", q.query)
	}
	f.Call("GET", path, "", "").Problem(401, "bad_token")
	f.Call("GET", path+"?limit=1", "admin", "").Problem(400, "invalid")
	q.n, q.err = 0, fault.BadField("q", "column 1: expected a key")
	f.Call("GET", path+"?q=%3D", "admin", "").Problem(400, "invalid")
	// An answer that fails midway is cut off.
	q.n, q.err = 5000, errors.New("gone")
	if _, err := httpapitest.Send(t, "GET", f.URL+path, "admin", ""); err == nil {
		t.Error("an answer that failed looks whole")
	}
}
