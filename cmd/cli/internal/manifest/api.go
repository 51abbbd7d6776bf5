package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Masks that the API shows in place of secrets. A mask that is sent back keeps the stored secret.
const (
	redacted = "[redacted]"
	stars    = "***"
)

// FromAPI makes the members of a document from an object of the API, whose numbers are json.Number. It omits derived
// members and default values. name returns the name for an id.
func FromAPI(k Kind, o map[string]any, name func(kind, id string) Ref) map[string]any {
	return Normal(k, fromAPI(k.of(o), o, name))
}

func fromAPI(members []member, o map[string]any, name func(kind, id string) Ref) map[string]any {
	out := make(map[string]any)
	for i := range members {
		m := &members[i]
		v, ok := o[m.api]
		if !ok || v == nil {
			continue
		}
		switch m.shape {
		case ref:
			if id, isText := v.(string); isText && id != "" {
				v = name(m.to, id)
			}
		case refs:
			v = each(v, func(x any) any {
				id, _ := x.(string)
				return name(m.to, id)
			})
		case subject:
			v = subjectOf(v, name)
		case subjects:
			v = each(v, func(x any) any { return subjectOf(x, name) })
		case record:
			if inner, isObject := v.(map[string]any); isObject {
				v = fromAPI(m.fields, inner, name)
			}
		case records:
			v = each(v, func(x any) any {
				inner, _ := x.(map[string]any)
				return fromAPI(m.fields, inner, name)
			})
		}
		out[m.name] = v
	}
	return out
}

// subjectOf returns the object that the API names by KIND:ID, or by its id alone.
func subjectOf(v any, name func(kind, id string) Ref) any {
	s, _ := v.(string)
	word, id, prefixed := strings.Cut(s, ":")
	if prefixed && word == noun(Queue) {
		return Ref{Key: Key{Kind: Queue, Name: id}}
	}
	for _, kind := range []string{User, Team, Project, Template, Inventory, Credential} {
		switch {
		case prefixed && word == noun(kind):
			return name(kind, id)
		case !prefixed && IsID(kind, s):
			return name(kind, s)
		}
	}
	return v
}

func each(v any, fn func(any) any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, 0, len(list))
	for _, x := range list {
		out = append(out, fn(x))
	}
	return out
}

// ToAPI makes a request body from a document with resolved references. stored is the object that an update replaces,
// nil for a creation; id returns the id of an object.
func ToAPI(d *Document, stored map[string]any, id func(Key) (string, error)) (map[string]any, error) {
	k, _ := KindOf(d.Kind)
	spec := Normal(k, d.Spec)
	members := k.of(spec)
	body, err := toAPI(members, spec, id)
	if err != nil {
		return nil, err
	}
	for i := range members {
		m := &members[i]
		_, provided := spec[m.name]
		switch {
		case provided || !m.retained:
		case stored == nil:
			body[m.api] = m.preset
		case m.echo:
			body[m.api] = stored[m.name]
		}
	}
	body["name"] = d.Name
	return body, nil
}

func toAPI(members []member, spec map[string]any, id func(Key) (string, error)) (map[string]any, error) {
	out := make(map[string]any)
	for i := range members {
		m := &members[i]
		v, ok := spec[m.name]
		if !ok {
			if m.always {
				out[m.api] = m.preset
			}
			continue
		}
		v, err := sent(m, v, id)
		if err != nil {
			return nil, err
		}
		out[m.api] = v
	}
	return out, nil
}

func sent(m *member, v any, id func(Key) (string, error)) (any, error) {
	switch x := v.(type) {
	case Ref:
		sid, err := x.ID, error(nil)
		if sid == "" {
			sid, err = id(x.Key)
		}
		if m.shape == subject && slices.Contains([]string{User, Team, Queue}, x.Kind) {
			sid = noun(x.Kind) + ":" + sid
		}
		return sid, err
	case map[string]any:
		if m.shape == record {
			return toAPI(m.fields, x, id)
		}
	case []any:
		if m.shape != refs && m.shape != records && m.shape != subjects {
			return v, nil
		}
		out := make([]any, 0, len(x))
		for _, item := range x {
			one := member{shape: record, fields: m.fields}
			if m.shape == subjects {
				one.shape = subject
			}
			s, err := sent(&one, item, id)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		return out, nil
	}
	return v, nil
}

// Normal omits members with default values.
func Normal(k Kind, spec map[string]any) map[string]any {
	out := normal(k.of(spec), spec)
	if k.Name == Credential && out["type"] != nil {
		delete(out, "kind") // a type makes it custom
	}
	return out
}

func normal(members []member, spec map[string]any) map[string]any {
	out := make(map[string]any, len(spec))
	for i := range members {
		m := &members[i]
		v, ok := spec[m.name]
		if !ok || v == nil {
			continue
		}
		switch m.shape {
		case number:
			v = clamped(m, v)
		case record:
			if inner, isObject := v.(map[string]any); isObject {
				v = normal(m.fields, inner)
			}
		case records:
			v = each(v, func(x any) any {
				inner, _ := x.(map[string]any)
				return normal(m.fields, inner)
			})
		}
		if list, ok := v.([]any); ok && m.set {
			v = slices.SortedFunc(slices.Values(list), func(a, b any) int { return strings.Compare(setKey(a), setKey(b)) })
		}
		if !isDefault(m, v) {
			out[m.name] = v
		}
	}
	return out
}

// setKey identifies a value of a set: by the object that it names.
func setKey(v any) string {
	switch x := v.(type) {
	case Ref:
		return x.ID + x.Name
	case map[string]any:
		for _, w := range x {
			if r, ok := w.(Ref); ok {
				return setKey(r)
			}
		}
	}
	return ""
}

// clamped returns a number as the server stores it: a number above the maximum becomes the maximum.
func clamped(m *member, v any) any {
	n, ok := v.(json.Number)
	if !ok || m.most == 0 {
		return v
	}
	if i, err := n.Int64(); errors.Is(err, strconv.ErrRange) && n[0] != '-' || err == nil && i > int64(m.most) {
		return json.Number(strconv.Itoa(m.most))
	}
	return v
}

// isDefault reports whether a value equals the default of its member.
func isDefault(m *member, v any) bool {
	switch {
	case m.zero || m.retained:
		return false
	case m.preset != nil && same(v, m.preset):
		return true
	case m.always:
		return false
	}
	switch x := v.(type) {
	case string:
		return x == ""
	case json.Number:
		return x == "0"
	case bool:
		return !x
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	case Ref:
		return x.ID == "" && x.Name == ""
	}
	return false
}

// same compares values; numbers are equal if their texts or their values are equal.
func same(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && (x == y || sameFloat(x, y))
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, same)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, there := y[k]; !there || !same(v, w) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(a, b)
	}
}

// sameFloat compares two numbers, at least one with a fraction or an exponent.
func sameFloat(a, b json.Number) bool {
	if wholeForm.MatchString(string(a)) && wholeForm.MatchString(string(b)) {
		return false
	}
	x, errA := a.Float64()
	y, errB := b.Float64()
	return errA == nil && errB == nil && x == y
}

// Unbacked lists the members of a document that hold a mask where the stored object has no secret: there is no secret
// to keep. stored is nil if there is no object.
func Unbacked(d *Document, stored map[string]any) Problems {
	k, _ := KindOf(d.Kind)
	known := make(map[string]bool)
	masks(k.of(stored), stored, "spec", "spec", func(at, _, mask string) { known[at+"\x00"+mask] = true })
	var out Problems
	masks(k.of(d.Spec), d.Spec, "spec", "spec", func(at, place, mask string) {
		if !known[at+"\x00"+mask] {
			out = append(out, d.Problem(place, "%q stands for a value that the server does not have: put the value in its place",
				mask))
		}
	})
	slices.SortFunc(out, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Masked lists the members of an object that hold a mask.
func Masked(k Kind, spec map[string]any) []string {
	var out []string
	masks(k.of(spec), spec, "", "", func(at, _, _ string) {
		name, _, _ := strings.Cut(strings.TrimPrefix(at, "."), ".")
		out = append(out, strings.TrimSuffix(name, "[]"))
	})
	return out
}

// masks calls fn with every mask: with its path, which omits the indexes of list items, and with its location.
func masks(members []member, spec map[string]any, at, place string, fn func(at, place, mask string)) {
	for i := range members {
		m := &members[i]
		in, there := at+"."+m.name, place+"."+m.name
		switch v := spec[m.name].(type) {
		case string:
			if m.secret && isMask(v) {
				fn(in, there, v)
			}
		case map[string]any:
			if m.shape == record {
				masks(m.fields, v, in, there, fn)
			} else if m.shape == object || m.secret {
				inner(m, v, in, there, fn)
			}
		case []any:
			for j, x := range v {
				if one, ok := x.(map[string]any); ok && m.shape == records {
					masks(m.fields, one, in+"[]", fmt.Sprintf("%s[%d]", there, j), fn)
				}
			}
		}
	}
}

// inner finds masks among values without a schema: the mask of variables and, in secrets, the empty text too.
func inner(m *member, v any, at, place string, fn func(at, place, mask string)) {
	switch x := v.(type) {
	case string:
		if x == redacted || m.secret && (x == stars || x == "") {
			fn(at, place, x)
		}
	case map[string]any:
		for k, w := range x {
			inner(m, w, at+"."+k, place+"."+k, fn)
		}
	case []any:
		for i, w := range x {
			inner(m, w, at+"[]", fmt.Sprintf("%s[%d]", place, i), fn)
		}
	}
}

func isMask(s string) bool {
	return s == redacted || s == stars || len(s) < 2048 && maskedAddress.MatchString(s)
}
