package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// Where the token of a context is.
const (
	inKeyring = "keyring"
	inFile    = "file"
)

// keyringTimeout bounds a call of the keyring, which may wait for a dialogue that nobody sees.
const keyringTimeout = 5 * time.Second

// contextName is the form of the name of a context.
var contextName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,99}$`)

// keyring keeps secrets for the user's session. Its calls may block.
type keyring interface {
	Get(service, user string) (string, error)
	Set(service, user, secret string) error
	Delete(service, user string) error
}

// savedContext is a server that the user signed in to.
type savedContext struct {
	Server   string `yaml:"server" json:"server"`
	CAFile   string `yaml:"ca_file,omitempty" json:"ca_file,omitempty"`
	Username string `yaml:"username,omitempty" json:"username,omitempty"`
	// Method is how the token was got: password, oidc, saml, or token for one that the user gave.
	Method string `yaml:"method,omitempty" json:"method,omitempty"`
	// Token is where the token is; empty for none.
	Token string `yaml:"token,omitempty" json:"token_stored_in,omitempty"`
}

// session reports whether the token is that of a sign-in, which ends with the context.
func (c savedContext) session() bool { return c.Method != "" && c.Method != byToken }

// contextsFile is the user's configuration.
type contextsFile struct {
	Current  string                  `yaml:"current,omitempty"`
	Contexts map[string]savedContext `yaml:"contexts,omitempty"`
}

// named returns a context. Errors: a usage error with the names that exist.
func (f contextsFile) named(name string) (savedContext, error) {
	c, ok := f.Contexts[name]
	if !ok {
		known := "there is none"
		if len(f.Contexts) > 0 {
			known = "there are " + strings.Join(slices.Sorted(maps.Keys(f.Contexts)), ", ")
		}
		return c, usagef("no context %q: %s; 'writ login SERVER --context NAME' makes one", oneLine(name, 100), known)
	}
	return c, nil
}

// heldToken is a token in the file of tokens. It is valid for one server only.
type heldToken struct {
	Server string `yaml:"server"`
	Token  string `yaml:"token"`
}

// contextStore keeps contexts and their tokens in a directory of the user.
type contextStore struct {
	dir     string // empty if the user has none
	keyring keyring
}

func openContexts(w environment) contextStore {
	s := contextStore{keyring: w.keyring}
	if dir := configDir(w.env); dir != "" {
		s.dir = filepath.Join(dir, "writ")
	}
	return s
}

// configDir is os.UserConfigDir of an environment, empty where there is none.
func configDir(env func(string) string) string {
	dir := ""
	switch runtime.GOOS {
	case "windows":
		dir = env("AppData")
	case "darwin":
		if dir = env("HOME"); dir != "" {
			dir = filepath.Join(dir, "Library", "Application Support")
		}
	default:
		if dir = env("XDG_CONFIG_HOME"); dir == "" && env("HOME") != "" {
			dir = filepath.Join(env("HOME"), ".config")
		}
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

func (s contextStore) file() string   { return filepath.Join(s.dir, "config.yaml") }
func (s contextStore) tokens() string { return filepath.Join(s.dir, "tokens.yaml") }

// read returns the contexts; none if there is no file.
func (s contextStore) read() (f contextsFile, err error) {
	if s.dir == "" {
		return f, nil
	}
	return f, readYAML(s.file(), &f)
}

func readYAML(name string, out any) error {
	raw, err := small(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		d := yaml.NewDecoder(bytes.NewReader(raw))
		d.KnownFields(true)
		if err = d.Decode(out); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// change changes the contexts. Concurrent commands run one after the other, and the file is written whole or not at
// all.
func (s contextStore) change(fn func(*contextsFile) error) error {
	if s.dir == "" {
		return errors.New("there is no directory for the configuration: set HOME, or XDG_CONFIG_HOME to an absolute path")
	}
	//nolint:gosec // a directory needs the right to search it
	if err := errors.Join(os.MkdirAll(s.dir, 0o700), os.Chmod(s.dir, 0o700)); err != nil {
		return err
	}
	release, err := alone(s.file())
	if err != nil {
		return fmt.Errorf("lock %s: %w", s.dir, err)
	}
	defer release()
	f, err := s.read()
	if err != nil {
		return err
	}
	if f.Contexts == nil {
		f.Contexts = map[string]savedContext{}
	}
	if err := fn(&f); err != nil {
		return err
	}
	return writePrivate(s.file(), f)
}

// writePrivate writes a file that only the user reads.
func writePrivate(name string, v any) error {
	raw, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	return writeFile(environment{}, name, func(to io.Writer) error { _, err := to.Write(raw); return err })
}

// changeTokens changes the file of tokens, in change.
func (s contextStore) changeTokens(fn func(map[string]heldToken)) error {
	held := map[string]heldToken{}
	if err := readYAML(s.tokens(), &held); err != nil {
		return err
	}
	before := maps.Clone(held)
	if fn(held); maps.Equal(held, before) {
		return nil
	}
	return writePrivate(s.tokens(), held)
}

// service names a server in the keyring, so that a token is found for its own server only.
func service(server string) string { return "writ " + server }

// token returns the token of a context, empty if it has none.
func (s contextStore) token(ctx context.Context, name string, c savedContext) (string, error) {
	switch c.Token {
	case inKeyring:
		token, err := s.ask(ctx, func(k keyring) (string, error) { return k.Get(service(c.Server), name) })
		if err != nil {
			return "", fmt.Errorf("the token of the context %q is not readable in the keyring: %w\n  sign in again with "+
				"'writ login --context %s', with --no-keyring for a file, or set WRIT_TOKEN", name, err, name)
		}
		return token, nil
	case inFile:
		held := map[string]heldToken{}
		if err := readYAML(s.tokens(), &held); err != nil {
			return "", err
		}
		if held[name].Server == c.Server {
			return held[name].Token, nil
		}
	}
	return "", nil
}

// hold stores the token of a context, in change, and returns where. It is in the file if the user prefers that or the
// keyring fails, which cause tells.
func (s contextStore) hold(
	ctx context.Context, name, server, token string, preferFile bool,
) (where string, cause, err error) {
	if !preferFile {
		_, cause = s.ask(ctx, func(k keyring) (string, error) { return "", k.Set(service(server), name, token) })
		if cause == nil {
			return inKeyring, nil, s.changeTokens(func(held map[string]heldToken) { delete(held, name) })
		}
	}
	return inFile, cause, s.changeTokens(func(held map[string]heldToken) { held[name] = heldToken{server, token} })
}

// drop removes the token of a context, in change. A token that is gone already is no error.
func (s contextStore) drop(ctx context.Context, name string, c savedContext) error {
	if c.Token == inKeyring {
		_, err := s.ask(ctx, func(k keyring) (string, error) { return "", k.Delete(service(c.Server), name) })
		if err != nil && !errors.Is(err, errNoSecret) {
			return fmt.Errorf("the token of the context %q stays in the keyring: %w", name, err)
		}
	}
	return s.changeTokens(func(held map[string]heldToken) { delete(held, name) })
}

// ask calls the keyring for a bounded time. A call that does not return ends with the process.
func (s contextStore) ask(ctx context.Context, fn func(keyring) (string, error)) (string, error) {
	if s.keyring == nil {
		return "", errNoKeyring
	}
	ctx, cancel := context.WithTimeout(ctx, keyringTimeout)
	defer cancel()
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := fn(s.keyring)
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-ctx.Done():
		return "", errors.New("it does not answer")
	}
}
