package boundary

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// bind is a mount in a container.
type bind struct {
	from  string
	write bool
}

// binds mounts what a run sees besides the image, and covers what is hidden in that. A runtime does not take along what
// is mounted below a path, at least not into another namespace of users. State is the directory of the engine, in which
// the covers are.
func (b *Boundary) binds(c Command, state string) ([]string, error) {
	all, covers := map[string]bind{}, map[string]string{}
	for _, p := range b.shown(c) {
		if _, err := os.Stat(p.Name); err != nil {
			continue
		}
		name := real(p.Name)
		places := []string{p.at()}
		if p.at() == p.Name {
			places = append(places, name)
		}
		for _, at := range places {
			if at == "/" {
				return nil, errors.New("a container cannot show /, which is its image")
			}
			all[at] = bind{name, p.Write}
			for _, h := range b.hiddenFrom(c) {
				if h != name && below(name, h) {
					covers[at+strings.TrimPrefix(h, name)] = h
				}
			}
		}
	}
	for _, at := range []string{"/tmp", "/var/tmp"} {
		if _, shown := all[at]; !shown {
			all[at] = bind{filepath.Join(c.Home, "tmp"), true}
		}
	}
	if err := cover(all, covers, state); err != nil {
		return nil, fmt.Errorf("hide paths from a container: %w", err)
	}
	var out []string
	for _, at := range slices.Sorted(maps.Keys(all)) {
		from := all[at].from
		if strings.ContainsAny(from+at, ",\n") {
			return nil, fmt.Errorf("a container cannot show %q: the path has a comma or a line break", from)
		}
		mount := "--mount=type=bind,source=" + from + ",destination=" + at
		if !all[at].write {
			mount += ",readonly"
		}
		out = append(out, mount)
	}
	return out, nil
}

// cover adds binds over hidden paths: of a file the empty device, of a directory an empty one, with places for what is
// shown in it. The engine sees the directory state at stateAt.
func cover(all map[string]bind, covers map[string]string, state string) error {
	shown := slices.Sorted(maps.Keys(all))
	for n, at := range slices.Sorted(maps.Keys(covers)) {
		info, err := os.Stat(covers[at])
		if _, taken := all[at]; taken || err != nil {
			continue
		}
		if !info.IsDir() {
			all[at] = bind{from: os.DevNull}
			continue
		}
		name := filepath.Join("hidden", strconv.Itoa(n))
		err = os.MkdirAll(filepath.Join(state, name), 0o755) //nolint:gosec // the run passes it
		for _, inner := range shown {
			if inner != at && below(at, inner) {
				err = errors.Join(err, place(filepath.Join(state, name, strings.TrimPrefix(inner, at)), all[inner].from))
			}
		}
		if err != nil {
			return err
		}
		all[at] = bind{from: filepath.Join(stateAt, name)}
	}
	return nil
}

// place makes what a path can be mounted at: a directory, or a file for a file.
func place(at, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	dir := at
	if !info.IsDir() {
		dir = filepath.Dir(at)
	}
	err = os.MkdirAll(dir, 0o755) //nolint:gosec // the run passes it
	if err == nil && dir != at {
		err = os.WriteFile(at, nil, 0o600)
	}
	return err
}

// reaches returns an error if a container lacks a path.
func (b *Boundary) reaches(path string, c Command) error {
	for _, p := range b.shown(c) {
		name := real(p.Name)
		hidden := func(h string) bool { return h != name && below(name, h) && below(h, path) }
		if below(name, path) && !slices.ContainsFunc(b.hiddenFrom(c), hidden) {
			return nil
		}
	}
	return fmt.Errorf("the container does not have %s; show it by the key show of the profile", path)
}
