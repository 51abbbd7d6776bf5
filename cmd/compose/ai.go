package compose

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/fx"

	adapterai "github.com/writ-automation/writ/adapters/ai"
	"github.com/writ-automation/writ/adapters/goplugin"
	httpai "github.com/writ-automation/writ/adapters/httpapi/ai"
	aimodule "github.com/writ-automation/writ/modules/ai"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/secret/mask"
)

// AI is the provider of advice; an empty Provider is none.
type AI struct {
	Provider, Model, URL string
	Key                  extension.AIKey
}

// validate returns an error that names the flag.
func (a *AI) validate() error {
	if a.Provider == "" && (a.Model != "" || a.URL != "") {
		return errors.New("ai-provider: is required with ai-model and ai-url")
	}
	return nil
}

// advising provides advice of a language model. Without a provider its operations say so.
func advising() fx.Option {
	return fx.Options(fx.Provide(func(s *Settings, plugins *goplugin.Host) (aimodule.Config, error) {
		return s.aiConfig(plugins.AIProviders())
	}), aimodule.Module, httpai.Module)
}

// aiConfig builds the provider, which validates its settings. The operator names its address, so it may be private.
func (s *Settings) aiConfig(plugged map[string]extension.AIProviderFactory) (aimodule.Config, error) {
	a, registered := &s.AI, extension.AIProviders.Freeze()
	if a.Provider == "" {
		return aimodule.Config{}, nil
	}
	factories := adapterai.Factories(adapterai.Config{Policy: egress.Policy{Level: egress.PrivateAllowed},
		Agent: strings.TrimSuffix("Writ/"+s.Info.Version, "/")})
	maps.Copy(factories, registered)
	maps.Copy(factories, plugged)
	factory := factories[a.Provider]
	if factory == nil {
		return aimodule.Config{}, fmt.Errorf("ai-provider: %q is none of %s", a.Provider,
			strings.Join(slices.Sorted(maps.Keys(factories)), ", "))
	}
	p, err := factory(extension.AISettings{Model: a.Model, URL: a.URL, Key: a.Key})
	if err != nil {
		return aimodule.Config{}, fmt.Errorf("ai-provider: %s: %s (see ai-model, ai-url and WRIT_AI_KEY)", a.Provider,
			mask.New([]string{a.Key.Reveal()}).String(err.Error()))
	}
	return aimodule.Config{Provider: p, Name: a.Provider, Model: a.Model, Key: a.Key}, nil
}
