package extensiontest

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
)

// prompt bounds the calls of an engine that must return at once: long enough for loaded machines, and far less than
// forever.
const prompt = 30 * time.Second

// marker is a text that no engine may repeat.
const marker = "c4nary-0f-the-suite"

// SecretConfigs are configs of the engine under test.
type SecretConfigs struct {
	// Good names a secret.
	Good map[string]any
	// Missing name secrets that do not exist or are not readable, by the kind of error.
	Missing map[string]map[string]any
	// Hanging names a secret of a source that accepts a request and never answers; nil for engines without requests.
	Hanging map[string]any
	// Bad are configs that an extension.ConfigValidator has to refuse, by the member that its error has to name.
	Bad map[string][]map[string]any
	// Secrets are texts that are never part of an error, in addition to the members of Good that the engine declares
	// secret.
	Secrets []string
}

// engineOf is shared by the suites for both kinds of engines.
type engineOf struct {
	configs SecretConfigs
	engine  any
	ask     func(ctx context.Context, config map[string]any) (string, error)
}

func (e engineOf) tests() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"what is missing is an error": e.missing, "the time of the context": e.within, "an empty config": e.empty,
		"the config is described": e.described, "a good config is taken": e.taken, "bad configs are refused": e.refused,
		"required members are": e.required, "members of a wrong type": e.types,
	}
}

// secrets returns the texts that errors must not contain.
func (e engineOf) secrets() []string {
	out := append([]string{marker}, e.configs.Secrets...)
	d, ok := e.engine.(extension.ConfigDescriber)
	for name, v := range e.configs.Good {
		text, isText := v.(string)
		public := ok && slices.ContainsFunc(d.ConfigFields(), func(f extension.ConfigField) bool {
			return f.Name == name && !f.Secret
		})
		if isText && len(text) >= 4 && !public {
			out = append(out, text)
		}
	}
	return out
}

// silent fails for an error that contains a secret.
func (e engineOf) silent(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, s := range e.secrets() {
		if strings.Contains(err.Error(), s) {
			t.Errorf("an error holds a secret: %s", strings.ReplaceAll(err.Error(), s, "***"))
		}
	}
}

func (e engineOf) missing(t *testing.T) {
	for what, config := range e.configs.Missing {
		value, err := e.ask(t.Context(), config)
		if err == nil || value != "" {
			t.Errorf("%s: %d bytes, %v", what, len(value), err)
		}
		e.silent(t, err)
	}
}

// within calls the engine with an ended context, and with one that ends while the engine waits.
func (e engineOf) within(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	e.bounded(t, ended, e.configs.Good)
	if e.configs.Hanging == nil {
		return
	}
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	e.bounded(t, short, e.configs.Hanging)
}

func (e engineOf) bounded(t *testing.T, ctx context.Context, config map[string]any) {
	t.Helper()
	type end struct {
		value string
		err   error
	}
	done := make(chan end, 1)
	go func() {
		value, err := e.ask(ctx, config)
		done <- end{value, err}
	}()
	late := time.NewTimer(prompt)
	defer late.Stop()
	select {
	case got := <-done:
		if got.err == nil || got.value != "" {
			t.Errorf("the time was over: %d bytes, %v", len(got.value), got.err)
		}
		e.silent(t, got.err)
	case <-late.C:
		t.Fatal("the engine goes on when its time is over")
	}
}

func (e engineOf) empty(t *testing.T) {
	for _, config := range []map[string]any{nil, {}} {
		if value, err := e.ask(t.Context(), config); err == nil || value != "" {
			t.Errorf("a config without members: %d bytes, %v", len(value), err)
		}
	}
}

func (e engineOf) described(t *testing.T) {
	d, ok := e.engine.(extension.ConfigDescriber)
	if !ok {
		return
	}
	fields := map[string]bool{}
	for _, f := range d.ConfigFields() {
		if f.Name == "" || fields[f.Name] {
			t.Errorf("the member %q is described without a name or twice", f.Name)
		}
		fields[f.Name] = true
		if _, ok := e.configs.Good[f.Name]; f.Required && !ok {
			t.Errorf("a good config has no %s, which is required", f.Name)
		}
	}
	for name := range e.configs.Good {
		if !fields[name] {
			t.Errorf("the member %s is not described", name)
		}
	}
}

func (e engineOf) taken(t *testing.T) {
	v, ok := e.engine.(extension.ConfigValidator)
	if !ok {
		return
	}
	config := maps.Clone(e.configs.Good)
	if err := v.ValidateConfig(config); err != nil {
		t.Errorf("a good config is refused: %v", err)
	}
	if !reflect.DeepEqual(config, e.configs.Good) {
		t.Error("the engine changes the config that it judges")
	}
}

func (e engineOf) refused(t *testing.T) {
	for field, all := range e.configs.Bad {
		for _, config := range all {
			e.blames(t, config, field)
		}
	}
}

func (e engineOf) required(t *testing.T) {
	e.each(t, func(f extension.ConfigField) {
		if !f.Required {
			return
		}
		for _, v := range []any{nil, ""} {
			config := maps.Clone(e.configs.Good)
			if config[f.Name] = v; v == nil {
				delete(config, f.Name)
			}
			e.blames(t, config, f.Name)
		}
	})
}

func (e engineOf) types(t *testing.T) {
	e.each(t, func(f extension.ConfigField) {
		for _, v := range []any{[]any{marker}, map[string]any{"value": marker}, true} {
			config := maps.Clone(e.configs.Good)
			config[f.Name] = v
			e.blames(t, config, f.Name)
		}
	})
}

func (e engineOf) each(t *testing.T, test func(extension.ConfigField)) {
	t.Helper()
	if d, ok := e.engine.(extension.ConfigDescriber); ok {
		for _, f := range d.ConfigFields() {
			test(f)
		}
	}
}

// blames requires the refusal of a config for one member, both when it is saved and when it is used.
func (e engineOf) blames(t *testing.T, config map[string]any, field string) {
	t.Helper()
	if v, ok := e.engine.(extension.ConfigValidator); ok {
		err := v.ValidateConfig(config)
		var configErr *extension.ConfigError
		if !errors.As(err, &configErr) || configErr.Field != field || configErr.Message == "" {
			t.Errorf("%s: the error is %v, which does not name it", field, err)
		}
		e.silent(t, err)
	}
	value, err := e.ask(t.Context(), config)
	if err == nil || value != "" {
		t.Errorf("%s: the engine works with a config that it refuses: %d bytes, %v", field, len(value), err)
	}
	e.silent(t, err)
}

// concurrently calls a function from several goroutines at once.
func concurrently(n int, f func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(f)
	}
	all.Wait()
}

func runAll(t *testing.T, tests ...map[string]func(*testing.T)) {
	t.Helper()
	for _, some := range tests {
		for name, test := range some {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	}
}
