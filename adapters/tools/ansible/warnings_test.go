package ansible_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/runs"
)

const plain = `- hosts: all
  gather_facts: false
  tasks: [{name: t, debug: {msg: x}, tags: [a]}]
`

func TestWarnings(t *testing.T) {
	t.Parallel()
	type warned struct {
		playbook string
		change   func(*project)
		want     string
		code     int
	}
	cases := map[string]warned{
		"inventory missing": {plain, func(p *project) { p.play.Inventory = "production" },
			"inventory_path_missing no_hosts_matched", 0},
		"inventory unparsed": {plain, func(p *project) {
			p.write("bad.yml", "a: b: c")
			p.play.Inventory = "bad.yml"
		}, "inventory_unparsed no_hosts_matched", 0},
		"inventory empty": {plain, func(p *project) { p.write("none", ""); p.play.Inventory = "none" },
			"inventory_empty no_hosts_matched", 0},
		"pattern of one play": {plain + strings.Replace(plain, "all", "nosuch", 1), func(*project) {},
			"pattern_unmatched", 0},
		"limit in part": {plain, func(p *project) { p.play.Limit = "h1,nosuch" }, "limit_partly_unmatched", 0},
		"limit and hosts": {plain, func(p *project) {
			p.play.Limit, p.play.LimitHosts = "web", []string{"h3"}
		}, "pattern_unmatched no_hosts_matched", 0},
		"tags": {plain, func(p *project) { p.play.Tags = []string{"b"} }, "tags_matched_nothing no_hosts_matched", 0},
		"localhost": {strings.Replace(plain, "all", "localhost", 1), func(p *project) {
			p.play.Inventory = "production"
		}, "inventory_path_missing", 0},
		"unreachable": {plain, func(p *project) {
			p.write("site.yml", strings.Replace(plain, "debug: {msg: x}", "ping: ", 1))
			p.write("down", "h1 ansible_connection=ssh ansible_host=127.0.0.1 ansible_port=9\n")
			p.play.Inventory = "down"
		}, "hosts_unreachable", 4},
	}
	if depthtest.Long {
		maps.Copy(cases, map[string]warned{
			"missing and limited": {plain, func(p *project) {
				p.play.Inventory, p.play.Limit = "production", "x"
			}, "inventory_path_missing pattern_unmatched no_hosts_matched", 0},
			"pattern": {strings.Replace(plain, "all", "nosuch", 1), func(*project) {},
				"pattern_unmatched no_hosts_matched", 0},
			"limit": {plain, func(p *project) { p.play.Limit = "nosuch" }, "pattern_unmatched no_hosts_matched", 0},
			"a bound run": {plain + strings.Replace(plain, "all", "db", 1), func(p *project) {
				p.play.LimitHosts = []string{"h1"}
			}, "", 0},
		})
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]string{"site.yml": c.playbook})
			c.change(p)
			res := p.run()
			if got := codes(res.Warnings); got != c.want || res.ExitCode != c.code || !res.Complete {
				t.Errorf("%q, want %q; %+v\n%s", got, c.want, res, &p.out)
			}
			if c.code == 4 && len(p.of(runs.EventHostUnreachable)) != 1 {
				t.Error("no event of the unreachable host")
			}
		})
	}
}

// TestInventoryScriptFails checks that the warning of a run says why the script of its inventory failed.
func TestInventoryScriptFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want, not string }{
		"short": {"echo first >&2; echo 'cmdb: 401 unauthorized' >&2; exit 3", "first cmdb: 401 unauthorized", "ini plugin"},
		"long":  {"seq 3000 >&2; exit 1", "2999 3000", "plugin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]string{"site.yml": plain})
			p.write("cmdb.sh", "#!/bin/sh\n"+c.script+"\n")
			if err := os.Chmod(filepath.Join(p.dir, "cmdb.sh"), 0o700); err != nil {
				t.Fatal(err)
			}
			p.play.Inventory = "cmdb.sh"
			res := p.run()
			i := slices.IndexFunc(res.Warnings, func(w runs.Warning) bool { return w.Code == runs.WarnInventoryUnparsed })
			if i < 0 {
				t.Fatalf("%+v\n%s", res, &p.out)
			}
			text := res.Warnings[i].Message
			if !strings.HasSuffix(text, c.want) || strings.Contains(text, c.not) || len(text) > 4096 {
				t.Errorf("%d bytes: %s", len(text), text)
			}
		})
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	type listing struct {
		change   func(*project)
		want     []string
		warnings string
	}
	cases := map[string]listing{
		"all": {func(*project) {}, []string{"h1", "h2", "h3"}, ""},
		"both": {func(p *project) {
			p.play.Limit, p.play.LimitHosts = "web,db:!x", []string{"h2", "h3"}
		}, []string{"h2"}, "limit_partly_unmatched"},
		"two groups": {func(p *project) {
			p.play.Limit, p.play.LimitHosts = "h1:db", []string{"h2", "h3"}
		}, []string{"h3"}, ""},
		"nobody": {func(p *project) { p.play.Limit = "nosuch" }, nil, "pattern_unmatched no_hosts_matched"},
		"play":   {func(p *project) { p.write("site.yml", strings.Replace(plain, "all", "db", 1)) }, []string{"h3"}, ""},
	}
	if depthtest.Long {
		maps.Copy(cases, map[string]listing{
			"limit": {func(p *project) { p.play.Limit = "web:!h1" }, []string{"h2"}, ""},
			"bound": {func(p *project) { p.play.LimitHosts = []string{"h3", "h1"} }, []string{"h1", "h3"}, ""},
			"both plain": {func(p *project) {
				p.play.Limit, p.play.LimitHosts = "web:!h1", []string{"h1", "h2", "h3"}
			}, []string{"h2"}, ""},
		})
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, map[string]string{"site.yml": plain})
			c.change(p)
			got, warnings, err := p.tool.Hosts(t.Context(), p.spec, p.play)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil || codes(warnings) != c.warnings {
				t.Errorf("%s\n%v, warnings %q, want %q", diff, err, codes(warnings), c.warnings)
			}
		})
	}
}
