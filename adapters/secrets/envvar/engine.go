package envvar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

// reserved is the prefix of the server's own settings, which include the key of all stored secrets. Only a glob with
// this prefix matches them.
const reserved = "WRIT_"

// maxName bounds a name, in bytes.
const maxName = 256

// name is the form of a variable's name.
var name = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Config of the engine.
type Config struct {
	// Pattern lists the names that may be read: globs of path.Match, separated by commas; a glob has to match the whole
	// name. Empty allows none. Only globs that begin with WRIT_ match names that begin with WRIT_.
	Pattern string
}

// Engine is the engine env. It is safe for concurrent use.
type Engine struct{ globs []string }

var (
	_ extension.SecretResolver  = (*Engine)(nil)
	_ extension.ConfigDescriber = (*Engine)(nil)
	_ extension.ConfigValidator = (*Engine)(nil)
)

// New returns the engine. Its error names a glob that is not valid.
func New(c Config) (*Engine, error) {
	var e Engine
	for glob := range strings.SplitSeq(c.Pattern, ",") {
		if glob = strings.TrimSpace(glob); glob == "" {
			continue
		}
		if _, err := path.Match(glob, ""); err != nil {
			return nil, fmt.Errorf("the pattern of environment variables holds %q, which is not a valid glob", glob)
		}
		e.globs = append(e.globs, glob)
	}
	return &e, nil
}

func (e *Engine) ConfigFields() []extension.ConfigField {
	return []extension.ConfigField{{Name: "name", Required: true}}
}

func (e *Engine) ValidateConfig(config map[string]any) error {
	_, err := e.variable(config)
	return err
}

func (e *Engine) variable(config map[string]any) (string, error) {
	v, ok := config["name"].(string)
	switch {
	case config["name"] == nil || ok && v == "":
		return "", &extension.ConfigError{Field: "name", Message: "is required"}
	case !ok || len(v) > maxName || !name.MatchString(v):
		return "", &extension.ConfigError{Field: "name", Message: "has to be the name of an environment variable"}
	case !e.allows(v):
		return "", &extension.ConfigError{Field: "name", Message: "is not allowed by this server (--secret-env)"}
	}
	return v, nil
}

func (e *Engine) allows(name string) bool {
	for _, glob := range e.globs {
		if strings.HasPrefix(name, reserved) && !strings.HasPrefix(glob, reserved) {
			continue
		}
		if ok, err := path.Match(glob, name); ok && err == nil {
			return true
		}
	}
	return false
}

// A variable that is set to nothing is a secret of no characters.
func (e *Engine) Resolve(ctx context.Context, config map[string]any) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("env: %w", err)
	}
	variable, err := e.variable(config)
	if err != nil {
		return "", fmt.Errorf("env: %w", err)
	}
	value, ok := os.LookupEnv(variable)
	switch {
	case !ok:
		return "", fmt.Errorf("env: the server has no environment variable %s", variable)
	case !utf8.ValidString(value):
		return "", errors.New("env: the environment variable " + variable + " holds no text")
	}
	return value, nil
}
