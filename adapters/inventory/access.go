package inventory

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/secret"
)

// maxVariable is the system's maximum size of an environment variable in bytes, including the name.
const maxVariable = 128<<10 - 2

var (
	variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)
	fileForm     = lazyregexp.New(`^[A-Za-z0-9._-]{1,100}(/[A-Za-z0-9._-]{1,100})?$`)
)

// environOf writes the files of a credential below a private directory and returns its variables as NAME=value, with
// file marks replaced by paths. It refuses variables that the server itself sets.
func environOf(private string, a catalog.Access, own []string) ([]string, error) {
	paths, err := writeFiles(filepath.Join(private, ".files"), a.Files)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		isOwn := func(kv string) bool { return strings.HasPrefix(kv, name+"=") }
		value := paths.Replace(a.Env[name].Reveal())
		switch {
		case !variableName.MatchString(name):
			return nil, refuse("the credential sets %.60q, which is not the name of an environment variable", name)
		case slices.ContainsFunc(own, isOwn):
			return nil, refuse("the credential sets the environment variable %.60s, which the server sets itself", name)
		case strings.IndexByte(value, 0) >= 0:
			return nil, refuse("the credential sets the environment variable %.60s to a value with a NUL character", name)
		case len(name)+len(value) > maxVariable:
			return nil, refuse("the credential sets the environment variable %.60s to more than %d bytes", name, maxVariable)
		}
		out = append(out, name+"="+value)
	}
	return out, nil
}

// writeFiles creates a directory, writes the files into it with mode 0600, and returns the replacement of file marks by
// paths.
func writeFiles(root string, files map[string]secret.Text) (*strings.Replacer, error) {
	var marks []string
	dirs := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		dir, file := filepath.Split(name)
		if !fileForm.MatchString(name) || slices.Contains([]string{"./", "../"}, dir) || file == "." || file == ".." {
			return nil, refuse("the credential has a file with the name %.120q", name)
		}
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(files[name].Reveal()), 0o600)); err != nil {
			return nil, fmt.Errorf("write a file of a credential: %w", err)
		}
		marks = append(marks, secret.FileMark(name), path)
		if dir != "" && !dirs[dir] {
			dirs[dir] = true
			marks = append(marks, secret.FileMark(dir), filepath.Join(root, dir))
		}
	}
	return strings.NewReplacer(marks...), nil
}

// secretsOf returns the secret texts of a credential: its variables without file marks, its headers with and without
// the authentication scheme, and its files.
func secretsOf(a catalog.Access) []string {
	var out []string
	for _, v := range a.Env {
		parts := strings.Split(v.Reveal(), "\x00") // every second part is a mark
		for i := 0; i < len(parts); i += 2 {
			out = append(out, parts[i])
		}
	}
	for _, v := range a.Headers {
		_, rest, _ := strings.Cut(v.Reveal(), " ")
		out = append(out, v.Reveal(), rest)
	}
	for _, v := range a.Files {
		out = append(out, v.Reveal())
	}
	return out
}
