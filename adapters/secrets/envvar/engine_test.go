package envvar_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/secrets/envvar"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func named(name any) map[string]any { return map[string]any{"name": name} }

func engine(t *testing.T, pattern string) *envvar.Engine {
	t.Helper()
	e, err := envvar.New(envvar.Config{Pattern: pattern})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestEngineKeepsTheContract reads the environment of the test process.
func TestEngineKeepsTheContract(t *testing.T) {
	t.Setenv("SUITE_SECRET_ONE", "c4nary one\n")
	t.Setenv("SUITE_SECRET_BINARY", "c4nary\xff")
	t.Setenv("OTHER_SECRET", "c4nary other")
	extensiontest.SecretResolver{
		Resolver: engine(t, "SUITE_SECRET_*"), Want: "c4nary one\n",
		Configs: extensiontest.SecretConfigs{
			Good:    named("SUITE_SECRET_ONE"),
			Missing: map[string]map[string]any{"not set": named("SUITE_SECRET_TWO"), "no text": named("SUITE_SECRET_BINARY")},
			Bad: map[string][]map[string]any{
				"name": {named("OTHER_SECRET"), named("PATH"), named("SUITE_SECRET_A=B"), named("SUITE_SECRET_\x00"),
					named("suite_secret_one"), named(7.0)},
			},
			Secrets: []string{"c4nary"},
		},
	}.Run(t)
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for pattern, names := range map[string]map[string]bool{
		"":                      {"A": false, "PATH": false},
		" , ,":                  {"A": false},
		"A":                     {"A": true, "AB": false, "BA": false, "a": false},
		"A_*, B_?":              {"A_": true, "A_LONG_NAME": true, "B_1": true, "B_12": false, "XA_1": false},
		"*":                     {"ANYTHING": true, "WRIT_ENCRYPTION_KEY": false, "WRITER": true},
		"?RIT_*,[W]*":           {"WRIT_AI_KEY": false, "WORD": true},
		"WRIT_DEMO_*":           {"WRIT_DEMO_ONE": true, "WRIT_AI_KEY": false},
		"[A-C]X,[^A-Z]*,\\D\\E": {"AX": true, "DX": false, "_Y": true, "DE": true},
	} {
		for name, want := range names {
			if err := engine(t, pattern).ValidateConfig(named(name)); (err == nil) != want {
				t.Errorf("%q and %s: %v", pattern, name, err)
			}
		}
	}
	for _, pattern := range []string{"[", "A,[a-", "\\"} {
		if _, err := envvar.New(envvar.Config{Pattern: pattern}); err == nil {
			t.Errorf("%q is taken for a pattern", pattern)
		}
	}
}

func TestNothingIsAllowedWithoutAPattern(t *testing.T) {
	t.Setenv("SUITE_SECRET_ONE", "c4nary")
	for _, pattern := range []string{"", "SUITE", "SECRET_ONE"} {
		if value, err := engine(t, pattern).Resolve(t.Context(), named("SUITE_SECRET_ONE")); err == nil || value != "" {
			t.Errorf("%q: %d bytes, %v", pattern, len(value), err)
		}
	}
	t.Setenv("SUITE_SECRET_EMPTY", "")
	if value, err := engine(t, "SUITE*").Resolve(t.Context(), named("SUITE_SECRET_EMPTY")); err != nil || value != "" {
		t.Errorf("%q %v", value, err)
	}
}
