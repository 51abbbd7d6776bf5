package compose

import (
	"go.uber.org/fx"

	httpestate "github.com/writ-automation/writ/adapters/httpapi/estate"
	estatemodule "github.com/writ-automation/writ/modules/estate"
)

// estate provides the context of the estate with its routes.
func estate(s *Settings) fx.Option {
	return fx.Options(fx.Supply(s.estateConfig()), estatemodule.Module, httpestate.Module)
}

func (s *Settings) estateConfig() estatemodule.Config {
	return estatemodule.Config{ReadOnly: s.frozen(), VolatileFacts: s.VolatileFacts, RetainHistory: s.RetainHistory}
}
