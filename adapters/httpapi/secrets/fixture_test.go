package secrets_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	secretsapi "github.com/writ-automation/writ/adapters/httpapi/secrets"
)

// TestMain checks that no server outlives the tests.
func TestMain(m *testing.M) { httpapitest.Main(m) }

type fixture struct {
	*httpapitest.Server
	t    *testing.T
	fake *fakeModule
}

func params(s *fakeModule) secretsapi.Params {
	return secretsapi.Params{Credentials: credentials{s}, Types: types{s}}
}

func setup(t *testing.T, change ...func(*httpapi.Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, fake: &fakeModule{}}
	config := httpapi.Config{Version: "1"}
	for _, c := range change {
		c(&config)
	}
	f.Server = httpapitest.Serve(t, config, secretsapi.New(params(f.fake)))
	return f
}

// wasAsked compares the recorded calls of the port. It compares secrets by their values.
func (f *fixture) wasAsked(want ...any) {
	f.t.Helper()
	if d := cmp.Diff(want, f.fake.last()); d != "" {
		f.t.Errorf("asked (-want +got):\n%s", d)
	}
}
