package project

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
)

// TestHints compares the judgement of conditions with that of ansible-core 2.19, for a flag, a text, a list and a
// result.
func TestHints(t *testing.T) {
	t.Parallel()
	for _, c := range []string{
		"true", "yes", "null", "''", "flag", "flag | bool", "not list", "text is defined", "'x' in list", "flag == true",
		"list | length > 0", "res.rc == 0", "res.stdout | int > 0", "res is succeeded", "res.changed", "flag and text == 'x'",
		"ansible_check_mode", "flag | default(false)", `"'a > b' in text"`, "res.stdout != ''",
		"list", // its type is not in its text
	} {
		if got := hints(map[string][]byte{"a.yml": []byte("- debug:\n  when: " + c)}, nil); len(got) != 0 {
			t.Errorf("%s: %+v", c, got)
		}
	}
	for c, want := range map[string]string{
		`"{{ flag }}"`: hintTemplate, `"'{{ text }}' == 'x'"`: hintTemplate, `"{% if flag %}true{% endif %}"`: hintTemplate,
		"1": hintNotBoolean, "2024": hintNotBoolean, `"'yes'"`: hintNotBoolean, "res.stdout": hintNotBoolean,
		"res.rc": hintNotBoolean, "list | length": hintNotBoolean, "groups['all']": hintNotBoolean,
		"inventory_hostname": hintNotBoolean, "text | default('')": hintNotBoolean, "list | default([])": hintNotBoolean,
		"text | int": hintNotBoolean, "text | regex_search('x')": hintNotBoolean,
	} {
		got := hints(map[string][]byte{"a.yml": []byte("---\n- debug:\n  when: " + c)}, nil)
		if diff := cmp.Diff([]catalog.Hint{{Path: "a.yml", Line: 3, Message: "when " + want}}, got); diff != "" {
			t.Errorf("%s: %s", c, diff)
		}
	}
}

func TestPlacesOfHints(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{
		"site.yml": []byte(`- hosts: all
  when: "{{ ignored on plays, and found all the same }}"
  roles: [a, {role: b, when: "{{ x }}"}]
  vars: {when: "{{ x }}"}
  pre_tasks:
    - block:
        - ansible.builtin.assert:
            that:
              - x is defined
              - res.stdout
      rescue: [{debug: , failed_when: ["{{ x }}"]}]
  handlers: [{debug: , until: "{{ x }}", changed_when: false}]
`),
		"group_vars/all.yml": []byte(`when: "{{ x }}"`),
		"broken.yml":         []byte("- {"),
		"two.yml":            []byte("---\n[]\n---\n- debug:\n  when: 1\n"),
		"deep.yml":           []byte(strings.Repeat("[{block: ", 1000) + strings.Repeat("}]", 1000)),
		"bomb.yml":           []byte("a: &a [1]\nb: &b [*a, *a]\nc: [*b, *b]\n"),
	}
	var got []string
	for _, h := range hints(files, nil) {
		word, _, _ := strings.Cut(h.Message, " ")
		got = append(got, fmt.Sprintf("%s:%d %s", h.Path, h.Line, word))
	}
	want := []string{"site.yml:2 when", "site.yml:3 when", "site.yml:10 that", "site.yml:11 failed_when",
		"site.yml:12 until", "two.yml:5 when"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	leaving := hints(map[string][]byte{"a.yml": []byte("- debug:\n  when: 1\n")}, []string{"b", "roles/x"})
	if diff := cmp.Diff([]catalog.Hint{{Path: "b", Message: hintLink}, {Path: "roles/x", Message: hintLink},
		{Path: "a.yml", Line: 2, Message: "when " + hintNotBoolean}}, leaving); diff != "" {
		t.Errorf("links: %s", diff)
	}
	many := []byte(strings.Repeat("- debug:\n  when: 1\n", 2*catalog.MaxHints))
	if n := len(hints(map[string][]byte{"a.yml": many, "b.yml": many}, []string{"roles/x"})); n != catalog.MaxHints {
		t.Errorf("%d hints", n)
	}
	if got := hints(nil, nil); got == nil || len(got) > 0 {
		t.Errorf("a search without a find gives %v", got)
	}
}
