package project

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

const (
	// maxTaskDepth bounds the nesting of blocks.
	maxTaskDepth = 50
	// maxLinkHints leaves room for the other hints.
	maxLinkHints = 20

	hintLink = "is a link that leads out of the repository: it is left out of work trees, and a run that needs it " +
		"fails; put the files into the repository"
	hintTemplate = "holds a template: ansible-core 2.19 and newer refuse or warn of it; write the expression " +
		"without {{ }}"
	hintNotBoolean = "is no boolean: ansible-core 2.19 and newer refuse it; compare the value, for example with | " +
		"length > 0, or convert it with | bool"
)

var (
	// comparison matches what makes an expression a boolean, as far as its text tells.
	comparison = lazyregexp.New(`==|!=|[<>]|\b(?:and|or|not|in|is|if)\b`)
	// notBoolean matches expressions that are texts, numbers or lists whatever the values are.
	notBoolean = lazyregexp.New(`^(?:'[^']*'|"[^"]*"|-?[0-9.]+|inventory_hostname|groups\[[^\]]*\])$` +
		`|\.(?:stdout|stderr|stdout_lines|stderr_lines|results|rc)$` +
		`|\|\s*(?:length|count|int|float|list|first|last|regex_search\(.*\)|regex_findall\(.*\)|` +
		`(?:default|d)\(\s*(?:''|""|\[\]|\{\})\s*\))$`)
)

// hints returns the links that lead out of the repository, and the conditions in playbooks and task files that newer
// versions of Ansible refuse, by path and line. It judges by the text alone, so it misses expressions whose type
// depends on values. Files that are no lists are skipped.
func hints(files map[string][]byte, leaving []string) []catalog.Hint {
	s := &search{found: []catalog.Hint{}}
	for _, path := range leaving[:min(len(leaving), maxLinkHints)] {
		s.found = append(s.found, catalog.Hint{Path: path, Message: hintLink})
	}
	for _, s.path = range slices.Sorted(maps.Keys(files)) {
		decoder := yaml.NewDecoder(bytes.NewReader(files[s.path]))
		for {
			var doc yaml.Node
			if err := decoder.Decode(&doc); err != nil { // also at the end; what is no YAML fails in its run
				break
			}
			for _, n := range doc.Content {
				s.list(n, 0)
			}
		}
	}
	return s.found[:min(len(s.found), catalog.MaxHints)]
}

// search walks over one file after the other. Aliases are not followed.
type search struct {
	path  string
	found []catalog.Hint
}

func (s *search) list(n *yaml.Node, depth int) {
	if n.Kind != yaml.SequenceNode || depth > maxTaskDepth {
		return
	}
	for _, item := range n.Content {
		for i := 0; item.Kind == yaml.MappingNode && i+1 < len(item.Content); i += 2 {
			s.member(item.Content[i].Value, item.Content[i+1], depth)
		}
	}
}

func (s *search) member(key string, value *yaml.Node, depth int) {
	switch strings.TrimPrefix(strings.TrimPrefix(key, "ansible.builtin."), "ansible.legacy.") {
	case "tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always", "roles":
		s.list(value, depth+1)
	case "when", "failed_when", "changed_when", "until":
		s.condition(key, value)
	case "assert":
		for i := 0; value.Kind == yaml.MappingNode && i+1 < len(value.Content); i += 2 {
			if value.Content[i].Value == "that" {
				s.condition("that", value.Content[i+1])
			}
		}
	}
}

func (s *search) condition(key string, n *yaml.Node) {
	if n.Kind == yaml.SequenceNode {
		for _, x := range n.Content {
			s.condition(key, x)
		}
		return
	}
	text := strings.TrimSpace(n.Value)
	if n.Kind != yaml.ScalarNode || text == "" || n.Tag == "!!bool" || n.Tag == "!!null" ||
		len(s.found) >= catalog.MaxHints {
		return
	}
	problem := ""
	switch {
	case strings.Contains(text, "{{") || strings.Contains(text, "{%"):
		problem = hintTemplate
	case !comparison.MatchString(text) && notBoolean.MatchString(text):
		problem = hintNotBoolean
	default:
		return
	}
	s.found = append(s.found, catalog.Hint{Path: s.path, Line: n.Line, Message: key + " " + problem})
}
