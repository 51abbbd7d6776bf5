package plugin

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/extension"
)

// TestServePanics checks that an extension which cannot be served is refused before anything is served.
func TestServePanics(t *testing.T) {
	t.Parallel()
	n := extension.NotifierFunc(func(context.Context, extension.EndedRun) error { return nil })
	r := extension.SecretResolverFunc(func(context.Context, map[string]any) (string, error) { return "", nil })
	for what, e := range map[string]Extension{
		"an empty name": {Notifiers: map[string]extension.Notifier{"": n}},
		"a wrong name":  {Notifiers: map[string]extension.Notifier{"a b": n}},
		"a nil entry":   {Tools: map[string]extension.ToolRunner{"a": nil}},
		"an engine of both kinds": {SecretResolvers: map[string]extension.SecretResolver{"a": r},
			SecretMinters: map[string]extension.SecretMinter{"a": both{}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is served", what)
				}
			}()
			Serve(e)
		}()
	}
}

type both struct{}

func (both) Mint(context.Context, map[string]any) (string, *extension.SecretLease, error) {
	return "", nil, nil
}
