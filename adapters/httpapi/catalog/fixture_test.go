package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	catalogapi "github.com/writ-automation/writ/adapters/httpapi/catalog"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
)

// TestMain checks that no server remains after the tests.
func TestMain(m *testing.M) { httpapitest.Main(m) }

type fixture struct {
	*httpapitest.Server
	t    *testing.T
	fake *fakeModule
}

func params(s *fakeModule) catalogapi.Params {
	return catalogapi.Params{
		Projects: projects{s}, Commits: projects{s}, Inventories: inventories{s}, Versions: versions{s},
		Sources: sources{s}, Templates: templates{s},
		Launcher: launcher{s},
		Trail:    trail{}, Clock: wall{},
	}
}

func setup(t *testing.T, change ...func(*httpapi.Config, *catalogapi.Params)) *fixture {
	t.Helper()
	f := &fixture{t: t, fake: &fakeModule{}}
	config, p := httpapi.Config{Version: "1"}, params(f.fake)
	for _, c := range change {
		c(&config, &p)
	}
	f.Server = httpapitest.Serve(t, config, catalogapi.New(p))
	return f
}

// wasAsked compares the recorded calls of the port.
func (f *fixture) wasAsked(want ...any) {
	f.t.Helper()
	if d := cmp.Diff(want, f.fake.last()); d != "" {
		f.t.Errorf("asked (-want +got):\n%s", d)
	}
}
