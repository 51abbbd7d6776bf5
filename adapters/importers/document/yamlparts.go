package document

import (
	"bytes"
	"runtime"
	"sync"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// partSize is the least size of a part of a YAML document that is read on its own. Nodes take much more memory than the
// values that are made of them, so that parts take less memory as well as less time.
const partSize = 1 << 20

// The lines at the left margin with which a part begins: a plain key, and one whose value stands below it.
var (
	plainKey = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*:[ \t\r\n]`)
	listKey  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*:[ \t]*\r?\n$`)
)

// part is a piece of a document that begins at the left margin, after the line of the key whose list it continues.
type part struct{ key, text []byte }

// inParts reads a large document that is a map in parts of a size, and reports false if it cannot be cut, or if
// anything about a part is not right: then the whole document tells what. Within such a map, nothing but a key or an
// element of a list begins at the left margin, whatever the lines before hold. A text or a bracket that a cut went
// through does not end in its part, and an alias does not find its anchor: both are faults of the part.
func inParts(body []byte, size int) (any, bool) {
	parts := cut(body, size)
	if len(parts) < 2 {
		return nil, false
	}
	values, budgets := make([]any, len(parts)), make([]budget, len(parts))
	failed := make(chan struct{}, len(parts))
	work := make(chan int, len(parts))
	for i := range parts {
		work <- i
	}
	close(work)
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4) {
		all.Go(func() {
			for i := range work {
				if len(failed) > 0 {
					return
				}
				budgets[i] = budget{values: maxNodes, bytes: maxYAML}
				v, err := yamlValue(append(parts[i].key[:len(parts[i].key):len(parts[i].key)], parts[i].text...), &budgets[i])
				if values[i] = v; err != nil {
					failed <- struct{}{}
				}
			}
		})
	}
	all.Wait()
	used := budget{}
	for _, b := range budgets {
		used.values += maxNodes - b.values
		used.bytes += maxYAML - b.bytes
	}
	if len(failed) > 0 || used.values > maxNodes || used.bytes > maxYAML {
		return nil, false
	}
	return joined(parts, values)
}

// cut returns the parts of a document.
func cut(body []byte, size int) (out []part) {
	if len(body) < 2*size || bytes.Count(body, []byte("\r")) != bytes.Count(body, []byte("\r\n")) {
		return nil
	}
	// Further documents, and line breaks that only YAML knows, make the margin something else.
	for _, s := range []string{"\n---", "\n...", "\n%", "\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(body, []byte(s)) {
			return nil
		}
	}
	var key, next []byte // the last key whose elements begin on the next line, and that of the part
	begun, below, first := 0, 0, true
	for at, to := 0, 0; at < len(body); at = to {
		if to = at + 1 + bytes.IndexByte(body[at:], '\n'); to == at {
			to = len(body)
		}
		line, plain := body[at:to], plainKey.Get().Match(body[at:to])
		item := len(line) > 1 && line[0] == '-' && line[1] <= ' '
		switch text := bytes.TrimSpace(line); {
		case len(text) == 0, text[0] == '#', at == 0 && string(text) == "---", !first && line[0] == ' ':
			continue
		case first && !plain:
			return nil // it is no map, or is not at the margin
		case plain && listKey.Get().Match(line):
			key, below = line, to
		case !item || below > 0 && below != at:
			key = nil
		}
		if first = false; item {
			below = 0
		}
		if at-begun >= size && (plain || item && key != nil) {
			out = append(out, part{next, body[begun:at]})
			if begun, next = at, nil; item {
				next = key
			}
		}
	}
	return append(out, part{next, body[begun:]})
}

// joined puts the values of parts together.
func joined(parts []part, values []any) (any, bool) {
	whole, ok := values[0].(map[string]any)
	for i := 1; i < len(parts); i++ {
		more, isMap := values[i].(map[string]any)
		if ok = ok && isMap; !ok {
			return nil, false
		}
		name, _, _ := bytes.Cut(parts[i].key, []byte(":"))
		for k, v := range more {
			before, twice := whole[k]
			list, isList := before.([]any)
			items, areItems := v.([]any)
			switch {
			case twice && k == string(name) && isList && areItems:
				whole[k] = append(list, items...)
			case twice:
				return nil, false
			default:
				whole[k] = v
			}
		}
	}
	return whole, ok
}
