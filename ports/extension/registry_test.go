package extension

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// registration is how one registry of the process is filled.
type registration struct {
	kind     string
	reserved []string
	register []func(name string)
	freeze   func() []string
	clear    func()
}

func registrationOf[T any](r *Registry[T], reserved []string, register ...func(name string)) registration {
	return registration{kind: r.kind, reserved: reserved, register: register,
		freeze: func() []string { return slices.Sorted(maps.Keys(r.Freeze())) },
		clear:  func() { r.entries, r.frozen = make(map[string]T), false }}
}

// TestRegistration registers at the registries of the process: names that are empty, reserved or taken panic, and so
// does everything after the start of a server. Resolvers and minters share one set of names.
func TestRegistration(t *testing.T) {
	t.Parallel()
	for _, r := range []registration{
		registrationOf(Tools, BuiltinTools(), func(n string) { RegisterTool(n, nil) }),
		registrationOf(Notifiers, NotificationKinds(), func(n string) { RegisterNotifier(n, nil) }),
		registrationOf(AIProviders, BuiltinAIProviders(), func(n string) { RegisterAIProvider(n, nil) }),
		registrationOf(SecretEngines, BuiltinEngines(), func(n string) { RegisterSecretResolver(n, nil) },
			func(n string) { RegisterSecretMinter(n, nil) }),
	} {
		t.Cleanup(r.clear)
		var own []string
		for i, register := range r.register {
			own = append(own, fmt.Sprint("own-", i))
			register(own[i])
		}
		for _, register := range r.register {
			refused := func(want string, names ...string) {
				t.Helper()
				for _, name := range names {
					if got := panicOf(func() { register(name) }); !strings.Contains(got, r.kind) || !strings.Contains(got, want) {
						t.Errorf("%s %q: %s", r.kind, name, got)
					}
				}
			}
			refused("needs a name", "")
			refused("is reserved", r.reserved...)
			refused("is registered twice", own...)
		}
		if got := r.freeze(); !slices.Equal(got, own) {
			t.Errorf("%s: registered are %v", r.kind, got)
		}
		for _, register := range r.register {
			if got := panicOf(func() { register("late") }); !strings.Contains(got, "registered after the server started") {
				t.Errorf("%s: %s", r.kind, got)
			}
		}
		if got := r.freeze(); !slices.Equal(got, own) {
			t.Errorf("%s: after the start registered are %v", r.kind, got)
		}
	}
}

// panicOf returns the value with which a function panics.
func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}
