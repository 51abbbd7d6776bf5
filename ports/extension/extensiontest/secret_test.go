package extensiontest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

// memoryEngine is a typical engine in memory: it resolves and mints, and does not describe its config.
type memoryEngine struct {
	mu     sync.Mutex
	kept   map[string]string
	minted map[string]bool
	count  int
}

func (s *memoryEngine) resolve(ctx context.Context, config map[string]any) (string, error) {
	name, _ := config["name"].(string)
	if name == "far away" {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.kept[name]; ok {
		return value, nil
	}
	return "", errors.New("there is no such secret")
}

func (s *memoryEngine) Mint(ctx context.Context, config map[string]any) (string, *extension.SecretLease, error) {
	base, err := s.resolve(ctx, config)
	if err != nil {
		return "", nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	value := fmt.Sprintf("%s-%d", base, s.count)
	s.minted[value] = true
	return value, extension.NewSecretLease("shelf", func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.minted, value)
		return nil
	}), nil
}

func memoryEngineConfigs() extensiontest.SecretConfigs {
	return extensiontest.SecretConfigs{
		Good: map[string]any{"name": "app"}, Hanging: map[string]any{"name": "far away"},
		Missing: map[string]map[string]any{"unknown": {"name": "other"}, "no text": {"name": 7}}, Secrets: []string{"c4nary"},
	}
}

// TestSecretResolver runs the suite over a function.
func TestSecretResolver(t *testing.T) {
	t.Parallel()
	s := &memoryEngine{kept: map[string]string{"app": "c4nary"}}
	extensiontest.SecretResolver{Resolver: extension.SecretResolverFunc(s.resolve), Configs: memoryEngineConfigs(),
		Want: "c4nary"}.Run(t)
}

// TestSecretMinter runs the suite over an engine without revocation by another process.
func TestSecretMinter(t *testing.T) {
	t.Parallel()
	s := &memoryEngine{kept: map[string]string{"app": "c4nary"}, minted: map[string]bool{}}
	extensiontest.SecretMinter{
		Name: "shelf", Minter: s, Configs: memoryEngineConfigs(),
		Valid: func(_ *testing.T, value string) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.minted[value]
		},
		Minted: func(*testing.T) int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.minted)
		},
	}.Run(t)
}
