package pattern_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/modules/catalog/internal/pattern"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

const file = "testdata/estate.ini"

func estate(t testing.TB) *pattern.Index {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := inventory.Parse(text, catalog.INI)
	if err != nil {
		t.Fatal(err)
	}
	return pattern.NewIndex(c)
}

// answer is Ansible's result for a pattern.
type answer struct {
	Hosts   []string `json:"hosts"`
	Refused bool     `json:"refused"`
}

// real runs Ansible's own code for all patterns at once.
func real(t testing.TB, patterns []string) []answer {
	t.Helper()
	tool, err := exec.LookPath("ansible")
	if err != nil {
		t.Fatalf("ansible is missing, install it with `make setup`: %v", err)
	}
	text, err := os.ReadFile(tool)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(fields) == 0 {
		t.Fatalf("%s begins with %q, no interpreter", tool, line)
	}
	in, err := json.Marshal(patterns)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), fields[len(fields)-1], filepath.Join("testdata", "hosts.py"), file)
	config := filepath.Join(t.TempDir(), "ansible.cfg")
	if err := os.WriteFile(config, []byte("[defaults]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "ANSIBLE_CONFIG="+config, "ANSIBLE_NOCOLOR=1", "LC_ALL=C.UTF-8")
	cmd.Stdin = bytes.NewReader(in)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ansible: %v\n%s", err, stderr.String())
	}
	var list []answer
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// patterns returns common and unusual limits.
func patterns() []string {
	return []string{
		"", "all", "*", "web", "db", "web,db", "web:db", "web db", " web , db ", "prod", "eu", "empty", "ungrouped", "nobody",
		"nobody,db",
		"db1", "db1,db3", "db1:db3", "!db1", "!web", "prod:!db", "prod:!db2:!web01.example.com", "prod:&cache", "&cache",
		"eu:&db:!db3",
		"&db,&cache",
		"web*", "web*:!web02*", "*.example.com", "web0?.example.com", "db[1-2]", "db[!1]", "db[12]", "db?", "blue-1", "blue*",
		"w*:&web_staging",
		"web[0]", "web[-1]", "web[0:2]", "web[1:]", "web[2-3]", "web[0:0]", "web[5:99]", "web[99]", "web[-99]", "web[90:99]",
		"db[0]", "db[1:]", "prod[0]",
		"prod[4:7]", "all[0]", "cache[0]:db[0]", "!db[0]", "prod:!web[0:2]", "web01.example.com[0]", "nobody[0]",
		"~db[0-9]", "~(web|stage)[0-9]+", "~.*example.*", "~^cache-", "~b$", "!~web.*", "&~.*2.*", "~db[0]", "~web.*,~db.*",
		"192.0.2.7", "192.0.2.*", "2001:db8::7", "2001:db8::7,db1", "[2001:db8::7]", "lone.example.com", "lone*:bastion",
		"bastion:22",
		"web:22",
		"prod,&db,!db1", "!db1,prod,&db", "web_staging", "web_*", "web-*", "al*", "ungr*", "a*l", "d[b]1", "db]1", "db[", "[",
		"*a*:*b*", "db1,,db2", ":db1:", "db1,",
		"web[01:03].example.com", "db[1:2]", "~", "DB1", "wEb", "stage[0:1]", "web_staging[0]:web_staging[1]", "eu:prod:!eu",
		"all:!all", "!all",
	}
}

// differs returns the difference between the results of Resolve and of Ansible, empty for none.
func differs(t testing.TB, e *pattern.Index, p string, want answer) string {
	t.Helper()
	got, err := e.Resolve(t.Context(), p)
	if want.Refused || err != nil {
		if want.Refused && fault.Is(err, fault.Invalid) {
			return ""
		}
		return cmp.Diff(want.Refused, err == nil) + " refused otherwise"
	}
	hosts := slices.Sorted(slices.Values(got.Sample))
	if got.Count != len(hosts) {
		return "the count is another one"
	}
	return cmp.Diff(want.Hosts, hosts, cmpopts.EquateEmpty())
}

// TestAnsible compares the selected hosts with Ansible's.
func TestAnsible(t *testing.T) {
	t.Parallel()
	list := patterns()
	e := estate(t)
	for i, want := range real(t, list) {
		if d := differs(t, e, list[i], want); d != "" {
			t.Errorf("%q: %s", list[i], d)
		}
	}
}

// TestGenerated compares random patterns.
func TestGenerated(t *testing.T) {
	t.Parallel()
	token := rapid.SampledFrom([]string{
		"web", "db", "db1", "db3", "prod", "eu", "cache", "w*", "*b*", "d?1", "[a-d]*", "nobody", "~.*1", "all",
		"blue-1", "*",
	})
	single := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "", "!", "&"}).Draw(t, "modifier") + token.Draw(t, "word") +
			rapid.SampledFrom([]string{"", "", "", "[0]", "[0:1]", "[-1]", "[1:]"}).Draw(t, "subscript")
	})
	var list []string
	for i := range 200 {
		n := rapid.SliceOfN(single, 1, 4).Example(i)
		list = append(list, strings.Join(n, []string{",", ":"}[i%2]))
	}
	// Wildcards with a subscript may match several groups, whose order Ansible takes from the file.
	several := func(p string) bool {
		return strings.Contains(p, "*[") || strings.Contains(p, "1[") && strings.Contains(p, "?")
	}
	list = slices.DeleteFunc(list, several)
	if len(list) < 50 {
		t.Fatalf("%d patterns are left", len(list))
	}
	e := estate(t)
	for i, want := range real(t, list) {
		if d := differs(t, e, list[i], want); d != "" {
			t.Errorf("%q: %s", list[i], d)
		}
	}
}

// TestCommand runs the command itself, as users do.
func TestCommand(t *testing.T) {
	t.Parallel()
	e := estate(t)
	for _, p := range []string{"prod:&cache", "web[0:2],!web02*"} {
		cmd := exec.CommandContext(t.Context(), "ansible", "-i", file, p, "--list-hosts")
		cmd.Env = append(os.Environ(), "ANSIBLE_NOCOLOR=1", "LC_ALL=C.UTF-8")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("ansible, which `make setup` installs: %v", err)
		}
		want := strings.Fields(string(out))[2:] // after "hosts (2):"
		if d := differs(t, e, p, answer{Hosts: slices.Sorted(slices.Values(want))}); d != "" {
			t.Errorf("%q: %s", p, d)
		}
	}
}

// TestRefused checks that faults name limit and contain the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	e := estate(t)
	for _, p := range []string{
		"@hosts", "web,@hosts", "web:!@hosts", "web, @hosts", "-x", " --limit", "~(", "~(?=x)", "~a{1000}{1000}", "we\nb",
		"a\x00", "\xff", "!", "web,&",
		"~" + strings.Repeat("a", 2000), strings.Repeat("a", 1<<17), strings.Repeat("a,", 20_000),
	} {
		_, err := e.Resolve(t.Context(), p)
		if !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), "limit: ") {
			t.Errorf("%.40q: %v", p, err)
		}
	}
}

// TestWarnings checks that an unknown name is ignored with a warning that contains it.
func TestWarnings(t *testing.T) {
	t.Parallel()
	got, err := estate(t).Resolve(t.Context(), "nobody,db,zz*")
	if err != nil {
		t.Fatal(err)
	}
	want := catalog.Resolution{Count: 3, Groups: []string{"cache", "db", "eu", "prod"},
		Sample: []string{"db1", "db2", "db3"}, Warnings: []string{
			`nothing in the inventory has the name or fits the pattern "nobody"`,
			`nothing in the inventory has the name or fits the pattern "zz*"`,
		}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestHosts pages through the hosts in inventory order, with all their groups.
func TestGroups(t *testing.T) {
	t.Parallel()
	e := estate(t)
	list := e.Groups()
	if len(list) < 3 || list[0].Name != "all" || list[0].Hosts != 18 || list[1].Name != "ungrouped" {
		t.Fatalf("%+v", list)
	}
	for _, g := range list[1:] { // a group has the hosts that its name selects
		got, err := e.Resolve(t.Context(), g.Name)
		if err != nil || got.Count != g.Hosts {
			t.Errorf("%s: %d hosts, want %d: %v", g.Name, g.Hosts, got.Count, err)
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	e := estate(t)
	list, total, err := e.Hosts(t.Context(), 12, 2)
	if err != nil || total != 18 {
		t.Fatal(total, err)
	}
	want := []catalog.HostEntry{
		{Name: "db2", Groups: []string{"db", "eu", "prod"}, Vars: map[string]any{"role": "primary"}},
		{Name: "db3", Groups: []string{"cache", "db", "eu", "prod"}},
	}
	if d := cmp.Diff(want, list); d != "" {
		t.Error(d)
	}
	for _, w := range []struct{ offset, limit, want int }{{0, 1000, 18}, {17, 10, 1}, {18, 10, 0}, {1 << 40, 10, 0},
		{-3, 2, 2}} {
		if list, _, err := e.Hosts(t.Context(), w.offset, w.limit); err != nil || len(list) != w.want {
			t.Errorf("%+v: %d hosts, %v", w, len(list), err)
		}
	}
}
