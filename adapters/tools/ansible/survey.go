package ansible

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a survey.
const (
	surveyFiles    = 300
	surveyFileSize = 1 << 20
	surveyDepth    = 60
)

// Survey reads the playbook, its imported playbooks, the tasks of its roles and the task files that they name
// literally; it skips templated names, unreadable files and content beyond the bounds. A missing playbook is an
// Invalid fault.
func (t *Tool) Survey(ctx context.Context, p execution.Play) ([]runs.Warning, error) {
	playbook, err := resolve(p)
	var refused refusal
	if errors.As(err, &refused) {
		return nil, &fault.Error{Kind: fault.Invalid, Message: string(refused)}
	}
	if err != nil {
		return nil, err
	}
	s := &survey{ctx: ctx, root: filepath.Dir(playbook), workDir: p.WorkDir, found: map[string][]string{},
		seen: map[string]bool{}}
	if p.Confined {
		if s.confine, err = realRoot(p); err != nil {
			return nil, err
		}
	}
	s.playbook(playbook, 0)
	return s.warnings(), ctx.Err()
}

// surveyed returns the settings that a split changes, in the order of the warnings, each with its change.
func surveyed() [][2]string {
	return [][2]string{
		{"serial", "batches are counted in each shard, so as many of them run at a time as there are shards"},
		{"run_once", "the task runs once in every shard"},
		{"any_errors_fatal", "an error ends the play of its own shard alone"},
		{"max_fail_percentage", "the share of failed hosts is judged in each shard"},
		{"localhost", "a play on localhost runs in every shard"},
	}
}

// survey walks over the files of a playbook.
type survey struct {
	ctx     context.Context
	root    string // the playbook's folder
	workDir string
	confine string // files must be below it, links followed; empty for anywhere
	found   map[string][]string
	seen    map[string]bool
}

func (s *survey) warnings() []runs.Warning {
	var out []runs.Warning
	for _, k := range surveyed() {
		places := s.found[k[0]]
		if len(places) == 0 {
			continue
		}
		out = append(out, runs.Warning{
			Code:    runs.WarnShardSemantics,
			Message: fmt.Sprintf("%s (%s): %s.", k[0], enumerate(places), k[1]),
		})
	}
	return out
}

func (s *survey) note(setting, path string, n *yaml.Node) {
	if rel, err := filepath.Rel(s.workDir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	place := fmt.Sprintf("%s:%d", path, n.Line)
	if !slices.Contains(s.found[setting], place) {
		s.found[setting] = append(s.found[setting], place)
	}
}

// load reads one file as a list of mappings, empty if it is not one or was read before.
func (s *survey) load(path string, depth int) []*yaml.Node {
	if s.ctx.Err() != nil || depth > surveyDepth || s.seen[path] || len(s.seen) >= surveyFiles {
		return nil
	}
	s.seen[path] = true
	if real, err := filepath.EvalSymlinks(path); err != nil || s.confine != "" && !inside(s.confine, real) {
		return nil
	}
	if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, surveyFileSize))
	var doc yaml.Node
	if err != nil || yaml.Unmarshal(b, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	return mappings(doc.Content[0])
}

// mappings returns the mappings of a sequence. Aliases are not followed.
func mappings(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	var out []*yaml.Node
	for _, c := range n.Content {
		if c.Kind == yaml.MappingNode {
			out = append(out, c)
		}
	}
	return out
}

// member returns the value of the first key that a mapping has, nil for none.
func member(m *yaml.Node, keys ...string) *yaml.Node {
	for i := 0; m.Kind == yaml.MappingNode && i+1 < len(m.Content); i += 2 {
		if slices.Contains(keys, m.Content[i].Value) {
			return m.Content[i+1]
		}
	}
	return nil
}

// action returns the value of an action under its short or full name.
func action(m *yaml.Node, name string) *yaml.Node {
	return member(m, name, "ansible.builtin."+name, "ansible.legacy."+name)
}

// set reports whether a value may switch its setting on; a template may.
func set(n *yaml.Node) bool {
	return n != nil && !slices.Contains([]string{"false", "no", "off", "null", "~", ""}, strings.ToLower(n.Value)) ||
		n != nil && n.Kind == yaml.SequenceNode
}

func (s *survey) playbook(path string, depth int) {
	dir := filepath.Dir(path)
	for _, play := range s.load(path, depth) {
		if name := plainName(action(play, "import_playbook"), ""); name != "" {
			s.playbook(join(dir, name), depth+1)
			continue
		}
		for _, k := range []string{"serial", "any_errors_fatal", "max_fail_percentage"} {
			if n := member(play, k); set(n) {
				s.note(k, path, n)
			}
		}
		if n := member(play, "hosts"); n != nil && localOnly(n) {
			s.note("localhost", path, n)
		}
		for _, k := range []string{"pre_tasks", "tasks", "post_tasks", "handlers"} {
			s.tasks(path, mappings(member(play, k)), depth)
		}
		if roles := member(play, "roles"); roles != nil && roles.Kind == yaml.SequenceNode {
			for _, r := range roles.Content {
				s.role(plainName(r, "role", "name"), "", depth)
			}
		}
	}
}

// localOnly reports whether a play's pattern is the local host.
func localOnly(n *yaml.Node) bool {
	if n.Kind == yaml.SequenceNode {
		return slices.ContainsFunc(n.Content, localOnly)
	}
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, strings.TrimSpace(n.Value))
}

// tasks examines a list of tasks and blocks.
func (s *survey) tasks(path string, list []*yaml.Node, depth int) {
	if depth > surveyDepth {
		return
	}
	for _, task := range list {
		for _, k := range []string{"run_once", "any_errors_fatal"} {
			if n := member(task, k); set(n) {
				s.note(k, path, n)
			}
		}
		for _, k := range []string{"block", "rescue", "always"} {
			s.tasks(path, mappings(member(task, k)), depth+1)
		}
		for _, k := range []string{"include_tasks", "import_tasks"} {
			if name := plainName(action(task, k), "file"); name != "" {
				file := join(filepath.Dir(path), name)
				s.tasks(file, s.load(file, depth+1), depth+1)
			}
		}
		for _, k := range []string{"include_role", "import_role"} {
			if n := action(task, k); n != nil {
				s.role(plainName(n, "name"), plainName(member(n, "tasks_from"), ""), depth)
			}
		}
	}
}

// role examines the tasks of a role next to the playbook or in the project.
func (s *survey) role(name, from string, depth int) {
	if name == "" || !filepath.IsLocal(name) {
		return
	}
	from = strings.TrimSuffix(strings.TrimSuffix(cmp.Or(from, "main"), ".yml"), ".yaml")
	for _, base := range []string{filepath.Join(s.root, "roles"), filepath.Join(s.workDir, "roles"), s.root} {
		for _, ext := range []string{".yml", ".yaml"} {
			file := filepath.Join(base, name, "tasks", from+ext)
			if _, err := os.Stat(file); err == nil {
				s.tasks(file, s.load(file, depth+1), depth+1)
				return
			}
		}
	}
}

// plainName returns a literal name, either alone or under one of the keys; empty for a template.
func plainName(n *yaml.Node, keys ...string) string {
	if n != nil && n.Kind == yaml.MappingNode {
		n = member(n, keys...)
	}
	if n == nil || n.Kind != yaml.ScalarNode || strings.Contains(n.Value, "{{") {
		return ""
	}
	return strings.TrimSpace(n.Value)
}

func join(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}
