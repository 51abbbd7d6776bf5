package scheduling_test

import (
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	schedulingapi "github.com/writ-automation/writ/adapters/httpapi/scheduling"
)

// TestMain checks that no server outlives the tests.
func TestMain(m *testing.M) { httpapitest.Main(m) }

type fixture struct {
	*httpapitest.Server
	t    *testing.T
	fake *fakeModule
}

func setup(t *testing.T, change ...func(*httpapi.Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, fake: newFakeModule()}
	config := httpapi.Config{Version: "1"}
	for _, c := range change {
		c(&config)
	}
	f.Server = httpapitest.Serve(t, config, schedulingapi.New(params(f.fake)))
	return f
}

func params(s *fakeModule) schedulingapi.Params {
	return schedulingapi.Params{Schedules: schedules{s}, Planner: planner{s}, Triggers: triggers{s}, Hooks: hooks{s}}
}
