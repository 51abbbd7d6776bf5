package facts

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
)

// patterns are lists of segments by the first one.
type patterns map[string][][]string

func parse(texts []string) (patterns, error) {
	p := patterns{}
	for _, text := range texts {
		path, err := Path(text)
		if err != nil {
			return nil, fault.BadField("volatile_facts", "%q is no pattern of keys: %v", text, err)
		}
		if i := slices.Index(path, "**"); i >= 0 && i < len(path)-1 {
			return nil, fault.BadField("volatile_facts", "%q has ** before its end", text)
		}
		p[path[0]] = append(p[path[0]], path)
	}
	return p, nil
}

// match reports whether a pattern fits a path.
func (p patterns) match(path []string) bool {
	return fit(p[path[0]], path) || fit(p["*"], path) || fit(p["**"], path)
}

func fit(list [][]string, path []string) bool {
	return slices.ContainsFunc(list, func(pattern []string) bool { return fits(pattern, path) })
}

func fits(pattern, path []string) bool {
	for i, s := range pattern {
		switch {
		case s == "**":
			return len(path) >= i
		case i == len(path) || s != "*" && s != path[i]:
			return false
		}
	}
	return len(pattern) == len(path)
}

// Volatile reports whether a key is that of a volatile fact.
func (r *Rules) Volatile(key string) bool {
	path, err := Path(key)
	return err == nil && r.volatile.match(path)
}

// Path returns the names in a key. It fails for a text that is no key.
func Path(key string) ([]string, error) {
	var path []string
	for {
		var name string
		if strings.HasPrefix(key, `"`) {
			d := json.NewDecoder(strings.NewReader(key))
			if err := d.Decode(&name); err != nil {
				return nil, errors.New("a name in quotes is no JSON string")
			}
			key = key[d.InputOffset():]
		} else {
			end := strings.IndexAny(key, `."`)
			if end < 0 {
				end = len(key)
			}
			name, key = key[:end], key[end:]
			if name == "" {
				return nil, errors.New("a name is empty")
			}
		}
		path = append(path, name)
		if key == "" {
			return path, nil
		}
		if key[0] != '.' {
			return nil, errors.New("a dot is missing between two names")
		}
		key = key[1:]
	}
}
