package localfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/extension"
)

const (
	// maxSize bounds a secret, in bytes.
	maxSize = 1 << 20
	// maxPath bounds a path, in bytes.
	maxPath = 4 << 10
)

// Config of the engine.
type Config struct {
	// Dir is the directory below which files may be read. Empty allows none.
	Dir string
}

// Engine is the engine file. It is safe for concurrent use and keeps no file open.
type Engine struct{ dir string }

var (
	_ extension.SecretResolver  = (*Engine)(nil)
	_ extension.ConfigDescriber = (*Engine)(nil)
	_ extension.ConfigValidator = (*Engine)(nil)
)

// New returns the engine. Its error names a directory that does not exist.
func New(c Config) (*Engine, error) {
	if c.Dir == "" {
		return &Engine{}, nil
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("the directory of secret files: %w", err)
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the directory of secret files: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("the directory of secret files: %s is not a directory", dir)
	}
	return &Engine{dir: dir}, nil
}

func (e *Engine) ConfigFields() []extension.ConfigField {
	return []extension.ConfigField{{Name: "path", Required: true}}
}

// ValidateConfig does not read the file system.
func (e *Engine) ValidateConfig(config map[string]any) error {
	_, err := e.path(config)
	return err
}

// path returns the path of a config relative to the directory. An absolute path has to be below the directory.
func (e *Engine) path(config map[string]any) (string, error) {
	bad := func(message string) (string, error) {
		return "", &extension.ConfigError{Field: "path", Message: message}
	}
	p, ok := config["path"].(string)
	switch {
	case config["path"] == nil || ok && p == "":
		return bad("is required")
	case !ok || len(p) > maxPath || !utf8.ValidString(p) || strings.ContainsRune(p, 0):
		return bad("has to be the path of a file")
	case e.dir == "":
		return bad("is not allowed by this server (--secret-files)")
	}
	if filepath.IsAbs(p) {
		below, err := filepath.Rel(e.dir, p)
		if err != nil {
			return bad("has to be below the directory of secret files")
		}
		p = below
	}
	if p = filepath.Clean(p); !filepath.IsLocal(p) || p == "." {
		return bad("has to be below the directory of secret files")
	}
	return p, nil
}

// Resolve implements extension.SecretResolver: the text of a regular file of at most 1 MiB, without one line break at
// its end.
func (e *Engine) Resolve(ctx context.Context, config map[string]any) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("file: %w", err)
	}
	path, err := e.path(config)
	if err != nil {
		return "", fmt.Errorf("file: %w", err)
	}
	text, err := e.read(path)
	if err != nil {
		return "", fmt.Errorf("file: %w", err)
	}
	if !utf8.Valid(text) {
		return "", errors.New("file: the file holds no text")
	}
	value, ok := strings.CutSuffix(string(text), "\n")
	if ok {
		value = strings.TrimSuffix(value, "\r")
	}
	return value, nil
}

// read returns the content of a file. Its errors name no path.
func (e *Engine) read(path string) (text []byte, err error) {
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return nil, errors.New("the directory of secret files cannot be opened")
	}
	defer func() { _ = root.Close() }()
	// What is no regular file is refused below; the flag keeps a pipe from holding the run up before that.
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("the file does not exist")
	case errors.Is(err, fs.ErrPermission):
		return nil, errors.New("the server may not read the file")
	case err != nil:
		return nil, errors.New("the file cannot be opened below the directory of secret files")
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, errors.New("the file cannot be read")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	text, err = io.ReadAll(io.LimitReader(f, maxSize+1))
	switch {
	case err != nil:
		return nil, errors.New("the file cannot be read")
	case len(text) > maxSize:
		return nil, fmt.Errorf("the file is larger than %d bytes", maxSize)
	}
	return text, nil
}
