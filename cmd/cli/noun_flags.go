package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
	"github.com/writ-automation/writ/platform/config"
)

// maxBody bounds what is read from a file: the largest body that the server takes.
const maxBody = 8 << 20

// bodyFlags make the body of a request: a flag for each member that has a plain form, --set for the others, or a file.
type bodyFlags struct {
	members []apidoc.Member // that a caller sets
	read    map[string]func(environment) (any, error)
	flags   map[string]string // by member
	derived []apidoc.Member   // of an answer, which may be in a file
	sets    []string
	file    string
}

// writable are the members that a caller sets.
func writable(members []apidoc.Member) []apidoc.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m apidoc.Member) bool { return m.ReadOnly })
}

func (f *bodyFlags) register(w environment, c *cobra.Command, members []apidoc.Member) {
	f.members, f.read, f.flags = writable(members), map[string]func(environment) (any, error){}, map[string]string{}
	if len(f.members) == 0 {
		return
	}
	var rest []string
	for _, m := range f.members {
		if read := memberFlag(w, c, m); read == nil {
			rest = append(rest, m.Name)
		} else {
			f.read[m.Name], f.flags[m.Name] = read, flagOf(m)
		}
	}
	slices.Sort(rest)
	usage := "`PATH=TEXT`, or PATH:=JSON, any member (repeatable)"
	if len(rest) > 0 {
		usage = "`PATH=TEXT`, or PATH:=JSON, also of members without a flag: " + strings.Join(rest, ", ") + " (repeatable)"
	}
	c.Flags().StringArrayVar(&f.sets, "set", nil, usage)
	_ = c.Flags().SetAnnotation("set", withoutFlag, rest)
	helpMore(c, memberHelp(f.members, rest))
	if hasMember(f.members, "kind") && hasMember(f.members, "secret") {
		helpMore(c, kindHelp())
	}
	c.Flags().StringVar(&f.file, "file", "", "YAML or JSON `file` of the members, - for standard input")
}

// withoutFlag lists the members that are given by --set alone, in an annotation of that flag.
const withoutFlag = "members"

// flagOf names the flag of a member: a list is given item by item, and a reference by a name.
func flagOf(m apidoc.Member) string {
	name := m.Name
	switch {
	case name == "q":
		return "query"
	case name == "expires_in":
		return "expires"
	case name == "inventory":
		return "inventory-path" // beside inventory_id, whose flag is --inventory
	case strings.HasSuffix(name, "_ids"):
		name = strings.TrimSuffix(name, "_ids")
	case strings.HasSuffix(name, "_id") && name != "reconcile_run_id":
		name = strings.TrimSuffix(name, "_id")
	case m.Type == "array" || m.Type == "object" && len(m.Members) == 0:
		name = singular(name)
	case secretMember(m):
		name += "_file"
	}
	return strings.ReplaceAll(name, "_", "-")
}

// singular is the name of one of several.
func singular(name string) string {
	switch {
	case strings.HasSuffix(name, "ies"):
		return strings.TrimSuffix(name, "ies") + "y"
	case strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss"):
		return strings.TrimSuffix(name, "s")
	}
	return name
}

// secretMember reports whether the value of a member must not be on a command line, which other users can read.
func secretMember(m apidoc.Member) bool {
	return m.Format == "password" || m.Type == "string" && slices.Contains([]string{"password", "current", "new"}, m.Name)
}

// linesMember reports whether a text has lines, so that it is often in a file.
func linesMember(m apidoc.Member) bool {
	return m.Type == "string" && slices.Contains([]string{"content", "known_hosts", "command"}, m.Name)
}

// textOrFile returns a text, or with @ in front the content of a file.
func textOrFile(w environment, value string) (string, error) {
	file, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return value, nil
	}
	raw, err := w.input(file)
	return string(raw), err
}

// inSeconds reports whether a number is a time.
func inSeconds(m apidoc.Member) bool {
	return m.Type == "integer" && (strings.Contains(strings.ToLower(m.Description), "seconds") || m.Name == "timeout")
}

// usageOf describes a flag by the member's description and choices.
func usageOf(m apidoc.Member) string {
	text := strings.ReplaceAll(strings.TrimSuffix(m.Description, "."), "`", "'")
	if first, size := utf8.DecodeRuneInString(text); size < len(text) &&
		(text[size] == ' ' || unicode.IsLower(rune(text[size]))) {
		text = string(unicode.ToLower(first)) + text[size:]
	}
	if n, ok := refersTo(m.Name); ok {
		text = strings.TrimSuffix("`name` or id of the "+n.words()+"; "+text, "; ")
	}
	switch {
	case slices.Contains([]string{"subject", "actors", "actor"}, m.Name):
		text += "; names in place of ids too"
	case m.Name == "object":
		text += "; with names as in template:deploy"
	case m.Name == "target":
		text += "; the name of its template or its playbook in place of the id too"
	}
	if len(m.Enum) > 0 {
		text = strings.TrimPrefix(text+": "+strings.Join(m.Enum, ", "), ": ")
	}
	if m.Required {
		text = strings.TrimSuffix("required; "+text, "; ")
	}
	if m.Type == "array" {
		what := "(repeatable)"
		if !strings.Contains(text, "`") {
			what = "(`text`, repeatable)"
		}
		text = strings.TrimSpace(text + " " + what)
	}
	return text
}

// memberFlag registers the flag of a member and returns what reads its value; nil if the member has no plain form.
func memberFlag(w environment, c *cobra.Command, m apidoc.Member) func(environment) (any, error) {
	fs, name, usage := c.Flags(), flagOf(m), usageOf(m)
	if len(m.Enum) > 0 {
		defer func() {
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(m.Enum, cobra.ShellCompDirectiveNoFileComp))
		}()
	}
	if of := namedBy(m); of != "" {
		defer func() { completeFlags(w, c, map[string]string{name: of}) }()
	}
	switch {
	case secretMember(m):
		file := fs.String(name, "", "`file` with the "+m.Name+", - for standard input, ? asks on the terminal. "+usage)
		return func(w environment) (any, error) { return secretText(w, m.Name, *file) }
	case inSeconds(m):
		d := new(time.Duration)
		config.DaysVar(fs, d, name, 0, usage)
		return func(environment) (any, error) { return int64(*d / time.Second), nil }
	case m.Type == "integer":
		v := fs.Int64(name, 0, usage)
		return func(environment) (any, error) { return *v, nil }
	case m.Type == "boolean":
		v := fs.Bool(name, false, usage)
		return func(environment) (any, error) { return *v, nil }
	case m.Type == "array" && m.Items == "string":
		v := fs.StringArray(name, nil, usage)
		return func(environment) (any, error) { return anySlice(*v), nil }
	case m.Type == "object" && len(m.Members) == 0 && (m.Name == "secret" || m.Name == "fields"):
		v := fs.StringArray(name, nil, "`k=@FILE`, k=- for standard input, or k, which asks on the terminal (repeatable). "+
			usage)
		return func(w environment) (any, error) { return secretPairs(w, name, *v) }
	case m.Type == "object" && len(m.Members) == 0:
		v := fs.StringArray(name, nil, "`k=v` as text, or k:=JSON (repeatable). "+usage)
		return func(environment) (any, error) { return typedPairs(name, *v) }
	case linesMember(m):
		v := fs.String(name, "", "`text`, or @FILE to read a file. "+usage)
		return func(w environment) (any, error) { return textOrFile(w, *v) }
	case m.Type == "string":
		short := ""
		if m.Name == "q" {
			short = "q"
		}
		v := fs.StringP(name, short, "", usage)
		return func(environment) (any, error) { return *v, nil }
	}
	return nil
}

func anySlice(list []string) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// typedPairs reads k=v as text and k:=JSON as a value of its own type.
func typedPairs(flag string, list []string) (map[string]any, error) {
	out := make(map[string]any, len(list))
	for _, item := range list {
		name, v, err := typedPair(flag, item)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

func typedPair(flag, item string) (name string, value any, err error) {
	k, v, ok := strings.Cut(item, "=")
	name, typed := strings.CutSuffix(k, ":")
	switch {
	case !ok || name == "":
		return "", nil, usagef("--%s: expected key=value or key:=JSON", flag)
	case !typed:
		return name, v, nil
	}
	value, err = decoded([]byte(v))
	if err != nil || !json.Valid([]byte(v)) {
		return "", nil, usagef("--%s %s: the value is not JSON", flag, name)
	}
	return name, value, nil
}

// changed reports whether any flag or file sets a member.
func (f *bodyFlags) changed(fs *pflag.FlagSet) bool {
	for _, flag := range f.flags {
		if fs.Changed(flag) {
			return true
		}
	}
	return len(f.sets) > 0 || f.file != ""
}

// fill sets the members that flags and the file name. A file replaces all that was in the body.
func (f *bodyFlags) fill(w environment, fs *pflag.FlagSet, body map[string]any) error {
	if f.file != "" {
		raw, err := w.input(f.file)
		if err != nil {
			return err
		}
		from, err := f.parse(f.file, raw)
		if err != nil {
			return err
		}
		clear(body)
		for k, v := range from {
			body[k] = v
		}
	}
	for _, m := range f.members {
		if flag := f.flags[m.Name]; flag == "" || !fs.Changed(flag) {
			continue
		}
		v, err := f.read[m.Name](w)
		if err != nil {
			return err
		}
		body[m.Name] = v
	}
	for _, item := range f.sets {
		path, v, err := typedPair("set", item)
		if err != nil {
			return err
		}
		if body, err = setPath(body, path, v); err != nil {
			return usagef("--set %w", err)
		}
	}
	return nil
}

// parse reads the members of a file. Members that only the server sets are left out.
func (f *bodyFlags) parse(name string, raw []byte) (map[string]any, error) {
	var doc any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	if json.Valid(raw) {
		text = raw // its numbers keep their digits
	}
	v, err := decoded(bytes.TrimSpace(text))
	body, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, usagef("%s: expected an object with the members that the flags name, in YAML or JSON", name)
	}
	for _, m := range f.derived {
		if !hasMember(f.members, m.Name) {
			delete(body, m.Name)
		}
	}
	return body, nil
}

// setPath sets a member inside of a body; a number is the place in a list, of which the next one adds, and 0 begins a
// list.
func setPath(body map[string]any, path string, v any) (map[string]any, error) {
	set, err := setIn(body, strings.Split(path, "."), v)
	if err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	return set.(map[string]any), nil //nolint:forcetypeassert // an object stays one
}

func setIn(in any, path []string, v any) (any, error) {
	if len(path) == 0 {
		return v, nil
	}
	list, isList := in.([]any)
	if isList || in == nil && path[0] == "0" {
		at, err := strconv.Atoi(path[0])
		if err != nil || at < 0 || at > len(list) {
			return nil, fmt.Errorf("expected a number up to %d in place of %q", len(list), path[0])
		}
		if at == len(list) {
			list = append(list, nil)
		}
		list[at], err = setIn(list[at], path[1:], v)
		return list, err
	}
	object, isObject := in.(map[string]any)
	if in == nil {
		object, isObject = map[string]any{}, true
	}
	if !isObject || path[0] == "" {
		return nil, errors.New("there is no object of which it is a member")
	}
	inner, err := setIn(object[path[0]], path[1:], v)
	object[path[0]] = inner
	return object, err
}
