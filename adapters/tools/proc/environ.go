package proc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Environ returns an environment as a list, sorted by name.
func Environ(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// LookPath finds the first of the named executables on the PATH of env, or on this process's PATH if env has none. It
// skips entries that are not absolute, so that no file of a checkout is used as an interpreter, and what the run of the
// context cannot read. Its error is one sentence that names the missing executable, and what is in the way of one. For
// a run in a container it returns the first name: its image decides where that is.
func LookPath(ctx context.Context, env map[string]string, names ...string) (string, error) {
	inside, closed := InsideOf(ctx), error(nil)
	if inside.Contained() {
		return names[0], nil
	}
	list, ok := env["PATH"]
	if !ok {
		list = os.Getenv("PATH")
	}
	for _, name := range names {
		for _, dir := range filepath.SplitList(list) {
			if !filepath.IsAbs(dir) {
				continue
			}
			path := filepath.Join(dir, name)
			if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() || fi.Mode()&0o111 == 0 {
				continue
			}
			if err := inside.Sees(path); err != nil {
				closed = err
				continue
			}
			return path, nil
		}
	}
	if closed != nil {
		return "", closed
	}
	return "", fmt.Errorf("%s is not installed on the executing machine, or not on its PATH", strings.Join(names, " or "))
}
