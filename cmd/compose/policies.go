package compose

import (
	"io"
	"os"
	"time"

	"go.uber.org/fx"

	httppolicy "github.com/writ-automation/writ/adapters/httpapi/policy"
	policymodule "github.com/writ-automation/writ/modules/policy"
	schedulingmodule "github.com/writ-automation/writ/modules/scheduling"
	"github.com/writ-automation/writ/ports/policy"
)

// policies provides the context of policies with its routes.
func policies(s *Settings) fx.Option {
	return fx.Options(fx.Provide(s.policySource, schedulingmodule.NewCalendar), policymodule.Module, httppolicy.Module)
}

// policySource reads the policy file of the server.
func (s *Settings) policySource() policy.Source {
	if s.PolicyFile == "" {
		return policy.Source{}
	}
	return policy.Source{Path: s.PolicyFile, Read: func() ([]byte, time.Time, error) {
		f, err := os.Open(s.PolicyFile)
		if err != nil {
			return nil, time.Time{}, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, time.Time{}, err
		}
		text, err := io.ReadAll(io.LimitReader(f, policy.MaxFile+1)) // too large is refused by the format
		return text, info.ModTime(), err
	}}
}
