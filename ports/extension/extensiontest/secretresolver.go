package extensiontest

import (
	"maps"
	"reflect"
	"testing"

	"github.com/writ-automation/writ/ports/extension"
)

// SecretResolver is the suite's input for a secret engine.
type SecretResolver struct {
	Resolver extension.SecretResolver
	Configs  SecretConfigs
	// Want is the secret that Configs.Good names.
	Want string
}

// Run tests the engine against the contract of extension.SecretResolver, and those of extension.ConfigDescriber and
// extension.ConfigValidator if it implements them. An engine that is called with an ended context returns an error.
func (s SecretResolver) Run(t *testing.T) {
	if _, ok := s.Resolver.(extension.SecretMinter); ok {
		t.Error("an engine resolves or mints, and not both")
	}
	runAll(t, engineOf{configs: s.Configs, engine: s.Resolver, ask: s.Resolver.Resolve}.tests(),
		map[string]func(*testing.T){
			"the secret comes back": s.resolves, "many ask at a time": s.many,
		})
}

// resolves calls the engine twice, since resolving a secret must not remove it.
func (s SecretResolver) resolves(t *testing.T) {
	config := maps.Clone(s.Configs.Good)
	for range 2 {
		value, err := s.Resolver.Resolve(t.Context(), config)
		if err != nil || value != s.Want {
			t.Fatalf("%d bytes, %v", len(value), err)
		}
	}
	if !reflect.DeepEqual(config, s.Configs.Good) {
		t.Error("the engine changes the config that it is given")
	}
}

func (s SecretResolver) many(t *testing.T) {
	concurrently(8, func() {
		if value, err := s.Resolver.Resolve(t.Context(), s.Configs.Good); err != nil || value != s.Want {
			t.Errorf("%d bytes, %v", len(value), err)
		}
	})
}
