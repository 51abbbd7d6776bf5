package inventory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/fault"
)

// TestFaultsRepeatNoValue checks refusals of content with a canary where the value of a variable stands or was meant.
// Keeps T54.
func TestFaultsRepeatNoValue(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry"
	for _, c := range []struct {
		format catalog.Format
		text   string
	}{
		{catalog.INI, "a ansible_password= c4n4ry\n"}, {catalog.INI, "a x='c4n4ry\n"}, {catalog.INI, "a x='a' 'c4n4ry'\n"},
		{catalog.INI, "a x={'c4n4ry', 2}\n"}, {catalog.INI, "a x=\"'c4n4ry\\ud800'\"\n"},
		{catalog.INI, "a x=c4n4ry\\\n"}, {catalog.INI, "a\n[all:vars]\nansible_password: c4n4ry\n"},
		{catalog.INI, "a\n[all:vars]\nc4n4ry\n"}, {catalog.INI, "a\n[all:vars]\nx={'c4n4ry': {1}}\n"},
		{catalog.YAML, "all: {vars: {a: !c4n4ry c4n4ry}}\n"}, {catalog.YAML, "all: {vars: {a: !!float c4n4ry}}\n"},
		{catalog.YAML, "all:\n  vars: [c4n4ry]\n"}, {catalog.YAML, "all: {vars: {a: \"c4n4ry\n"}, {catalog.YAML, "all: " +
			"{vars: {a: *c4n4ry}}\n"},
		{catalog.YAML, "all: {vars: {a: !!int c4n4ry}}\n"}, {catalog.YAML, "all: {hosts: {a: [c4n4ry]}}\n"}, {catalog.YAML,
			"all: {vars: {a: !!timestamp c4n4ry}}\n"},
		{catalog.YAML, "all: {vars: {a: c4n4ry: b}}\n"}, {catalog.YAML, "all: {vars: {a: !!binary c4n4ry!}}\n"},
		{catalog.JSON, `{"all": {"vars": ["c4n4ry"]}}`},
		{catalog.JSON, `{"all": {"vars": {"a": "c4n4ry}}`}, {catalog.JSON, `{"all": {"hosts": {"a": "c4n4ry"}}}`},
		{catalog.JSON, `{"all": {"vars": {"a": c4n4ry}}}`}, {catalog.JSON, `{"all": {"vars": {"a": "c4n4ry\ud800"}}}`},
	} {
		if _, err := inventory.Parse([]byte(c.text), c.format); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s %q: %v", c.format, c.text, err)
		}
	}
}

// TestPlaces checks the line and column of each refusal.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format     catalog.Format
		text, want string
	}{
		{catalog.INI, "a\n\n  b x\n", "line 3, column 5: expected key=value"},
		{catalog.INI, "# é\r\na x=é y\r\n", "line 2, column 7: expected key=value"},
		{catalog.INI, "[g]\nh\n[g:vars]\n x\n", "line 4, column 2: expected key=value"},
		{catalog.INI, "[g:var]\n", "line 1, column 1: expected the kind"},
		{catalog.INI, "[g h]\n", "line 1, column 1: expected [group]"},
		{catalog.INI, "a\n[g:children]\nx\n", `line 3, column 1: group "g" has the child "x"`},
		{catalog.INI, "a\n[g:vars]\nx=1\n", "line 2, column 1: section [g:vars]"},
		{catalog.INI, "[a:children]\nb\n[b:children]\na\n", `line 4, column 1: group "a" cannot be a child of "b"`},
		{catalog.INI, "[a:children]\n# c\nall\n", "line 3, column 1: "},
		{catalog.INI, "a\nb x='1\n", "line 2, column 1: expected a closing"},
		{catalog.INI, "a x={1,2}\n", "line 1, column 3: expected a value that JSON can hold"},
		{catalog.INI, "a x=1e999\n", "line 1, column 3: expected a number"},
		{catalog.INI, "a x=\"'\\ud800'\"\n", "half of a surrogate pair"},
		{catalog.INI, "a x=\"'\\N{DASH}'\"\n", "expected a character or its number"},
		{catalog.INI, "a\n\xff\n", "line 2, column 1: expected text in UTF-8"},
		{catalog.INI, "a\nb\x00\n", "line 2, column 2: expected text, got U+0000"},
		{catalog.INI, "\ufeffa\n", "byte order mark"},
		{catalog.INI, "$ANSIBLE_VAULT;1.1;AES256\n3132\n", "encrypted with Ansible Vault"},
		{catalog.YAML, "all:\n  hosts:\n    a: [1]\n", "line 3, column 8: expected a mapping of variables"},
		{catalog.YAML, "all:\n  hosts:\n    5:\n", "line 3, column 5: expected a text"},
		{catalog.YAML, "all:\n  hosts:\n    'h[1:x]':\n", "line 3, column 5: expected numbers"},
		{catalog.YAML, "all:\n  hosts: [a]\n", "line 2, column 10: expected a mapping as hosts"},
		{catalog.YAML, "a: {children: {b: }}\nb: {children: {a: }}\n", "line 2, column 16: group"},
		{catalog.YAML, "a: {}\n---\nb: {}\n", "line 2: expected one YAML document"},
		{catalog.YAML, "a: b: c\n", "line 1: expected YAML"},
		{catalog.YAML, "plugin: aws\n", "inventory plugin"},
		{catalog.YAML, "all: {vars: {a: !x 1}}\n", "line 1, column 17: "},
		{catalog.YAML, "all: {vars: {a: .inf}}\n", "line 1, column 17: "},
		{catalog.YAML, "", "line 1: expected a mapping"},
		{catalog.INI, "a\n-oProxyCommand=x\n", "line 2, column 1: expected the name of a host, got"},
		{catalog.INI, "[g]\n  -h[1:2]:22 x=1\n", "line 2, column 3: expected the name of a host, got"},
		{catalog.YAML, "all:\n  hosts:\n    -h:\n", "line 3, column 5: expected the name of a host, got"},
		{catalog.YAML, "g: {hosts: -h}", "expected the name of a host, got"},
		{catalog.YAML, "all:\n  hosts:\n    \"a\\nb\":\n", "line 3, column 5: expected the name of a host on one line"},
		{catalog.YAML, "all:\n  hosts:\n    \"a\\0b\":\n", "line 3, column 5: expected the name of a host on one line"},
		{catalog.YAML, "all:\n  hosts:\n    \"a\\Lb\":\n", "expected the name of a host on one line"},
		{catalog.JSON, `{"g": {"hosts": {"-h": {}}}}`, "line 1, column 21: expected the name of a host, got"},
		{catalog.JSON, `{"g": {"hosts": {"a\rb": {}}}}`, "expected the name of a host on one line"},
		{catalog.JSON, `{"g": {"hosts": {"a\u0000b": {}}}}`, "expected the name of a host on one line"},
		{catalog.JSON, `{"g": {"hosts": {"a\u2028b": {}}}}`, "expected the name of a host on one line"},
		{catalog.JSON, "{\"all\": {\n \"hosts\": [\"a\"]}}", "line 2, column 11: expected a mapping as hosts"},
		{catalog.JSON, "{\"a\": {\n}, }", "line 2, column 4: expected JSON"},
		{catalog.JSON, "{\"a\": {\"vars\": {\"x\": \"\\ud83d\\u0041\"}}}", "half of a surrogate pair"},
		{catalog.JSON, "{\"a\": {\"vars\": {\"x\": 1e999}}}", "expected a number that JSON can hold"},
		{catalog.JSON, "{\"a\": {\"children\": {\"b\": {}}},\n\"b\": {\"children\": {\"a\": {}}}}", "line 2, column"},
		{catalog.JSON, "a: b", "line 1, column 1: expected JSON"},
	} {
		_, err := inventory.Parse([]byte(c.text), c.format)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Fields[0].Location != "content" ||
			!strings.Contains(f.Message, c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := inventory.Parse([]byte("a"), "toml"); err == nil || !strings.HasPrefix(err.Error(), "format: ") {
		t.Errorf("format toml: %v", err)
	}
}

// TestBounds uses content that expands beyond the limits. Each is refused before the expansion, so the test is fast.
func TestBounds(t *testing.T) {
	t.Parallel()
	merges := "x:\n  vars:\n    m0: &m0 {a: 1}\n"
	for i := 1; i < 30; i++ {
		merges += fmt.Sprintf("    m%d: &m%d {<<: [%s*m%d]}\n", i, i, strings.Repeat(fmt.Sprintf("*m%d,", i-1), 9), i-1)
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for name, c := range map[string]struct {
		format catalog.Format
		text   string
	}{
		"range":           {catalog.INI, "h[1:200001]"},
		"enormous range":  {catalog.INI, "h[0:999999999999]"},
		"beyond 64 bits":  {catalog.INI, "h[0:99999999999999999999999]"},
		"product":         {catalog.INI, strings.Repeat("[0:9]", 60) + "x"},
		"long names":      {catalog.INI, "h[1:200000]" + strings.Repeat("x", 1<<20)},
		"hosts":           {catalog.INI, "a[1:150000]\nb[1:150000]"},
		"content":         {catalog.INI, strings.Repeat("#", 16<<20+1)},
		"groups":          {catalog.INI, manyGroups(100_001)},
		"merges":          {catalog.YAML, merges},
		"depth":           {catalog.YAML, "x: {vars: {a: " + deep + "}}"},
		"depth of JSON":   {catalog.JSON, `{"x": {"vars": {"a": ` + deep + `}}}`},
		"values":          {catalog.JSON, `{"x": [` + strings.Repeat("1,", 2_000_000) + `1]}`},
		"values of YAML":  {catalog.YAML, "x: [" + strings.Repeat("1,", 2_000_001) + "1]"},
		"alias of itself": {catalog.YAML, "x: {vars: {a: &a [*a]}}"},
		"merge of itself": {catalog.YAML, "x: {vars: &v {<<: *v}}"},
		"group in itself": {catalog.YAML, "x: &x {children: {y: *x}}"},
		"range in YAML":   {catalog.YAML, "x: {hosts: {'h[1:1000][1:1000]': }}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := inventory.Parse([]byte(c.text), c.format); !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	}
	// In Count, which builds no variables, variables reach the limit of mentions quickly: one more host exceeds it.
	most := "h[1:1000]" + strings.Repeat(" x=1", 1998) + "\nh[1:1000]\n"
	if _, _, err := inventory.Count([]byte(most), catalog.INI); err != nil {
		t.Errorf("as many mentions as are allowed: %v", err)
	}
	if _, _, err := inventory.Count([]byte(most+"h1\n"), catalog.INI); !fault.Is(err, fault.Invalid) {
		t.Errorf("a mention more: %v", err)
	}
	most = "h[1:1000]" + strings.Repeat(" x=1", 2000)
	if _, _, err := inventory.Count([]byte(most), catalog.INI); !fault.Is(err, fault.Invalid) {
		t.Errorf("too many variables: %v", err)
	}
}

func manyGroups(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[g%d]\n", i)
	}
	return b.String()
}

// TestLiteralDepth nests deeper than Python does, so the text is a string.
func TestLiteralDepth(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 1<<20)
	c, err := inventory.Parse([]byte("h x="+deep), catalog.INI)
	if err != nil || c.Vars["h"]["x"] != deep {
		t.Errorf("got %v", err)
	}
}

// estate returns hosts with a few variables each, in ten groups.
func estate(hosts int, format catalog.Format) []byte {
	var b strings.Builder
	per := hosts / 10
	if format == catalog.JSON {
		b.WriteString("{")
	}
	for i := range hosts {
		first := i%per == 0
		switch format {
		case catalog.INI:
			if first {
				fmt.Fprintf(&b, "[group%d]\n", i/per)
			}
			fmt.Fprintf(&b, "host%d.example.org ansible_host=10.0.%d.%d rack=r%d weight=%d tags=\"['a','b']\"\n", i, i/250,
				i%250, i%40, i%7)
		case catalog.YAML:
			if first {
				fmt.Fprintf(&b, "group%d:\n  hosts:\n", i/per)
			}
			fmt.Fprintf(&b,
				"    host%d.example.org:\n      ansible_host: 10.0.%d.%d\n      rack: r%d\n      weight: %d\n      tags: [a, b]\n",
				i, i/250, i%250, i%40, i%7)
		default:
			if first {
				fmt.Fprintf(&b, "%s\"group%d\": {\"hosts\": {", strings.Repeat("}},", min(1, i)), i/per)
			}
			fmt.Fprintf(&b,
				"%s\"host%d.example.org\": {\"ansible_host\": \"10.0.%d.%d\", \"rack\": \"r%d\", \"weight\": %d, \"tags\": "+
					"[\"a\", \"b\"]}",
				map[bool]string{true: "", false: ","}[first], i, i/250, i%250, i%40, i%7)
		}
	}
	if format == catalog.JSON {
		b.WriteString("}}}")
	}
	return []byte(b.String())
}

// TestEstate parses many hosts of each format, 50,000 in a long run. The log contains the duration.
func TestEstate(t *testing.T) {
	t.Parallel()
	most := depthtest.Of(1_000, 50_000)
	last := fmt.Sprintf("host%d.example.org", most-1)
	for _, format := range []catalog.Format{catalog.INI, catalog.YAML, catalog.JSON} {
		text := estate(most, format)
		start := time.Now()
		c, err := inventory.Parse(text, format)
		parsed := time.Since(start)
		if err != nil || len(c.Hosts) != most || len(c.Groups) != 12 || c.Vars[last]["weight"] != int64((most-1)%7) {
			t.Fatalf("%s: %v", format, err)
		}
		start = time.Now()
		hosts, groups, err := inventory.Count(text, format)
		if err != nil || hosts != most || groups != 10 {
			t.Fatalf("%s: %d, %d, %v", format, hosts, groups, err)
		}
		t.Logf("%s: %d bytes parsed in %v, counted in %v", format, len(text), parsed, time.Since(start))
	}
}

func BenchmarkParse(b *testing.B) {
	for _, format := range []catalog.Format{catalog.INI, catalog.YAML, catalog.JSON} {
		for _, hosts := range []int{5_000, 50_000} {
			text := estate(hosts, format)
			b.Run(fmt.Sprintf("%s-%d", format, hosts), func(b *testing.B) {
				for b.Loop() {
					if _, err := inventory.Parse(text, format); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// FuzzParse searches for content on which Parse panics, returns an error that is not a fault, or disagrees with Count.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a[1:3]:22 x=[1,'a']\n[g:children]\nh # c\n[h]\n",
		"all: {hosts: {a: {x: &a 1, y: *a, <<: {z: 010}}}}", `{"g": {"hosts": {"a": {"x": [1.5, null]}}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []catalog.Format{catalog.INI, catalog.YAML, catalog.JSON} {
			c, err := inventory.Parse([]byte(text), format)
			if err != nil {
				if !fault.Is(err, fault.Invalid) {
					t.Fatal(err)
				}
				continue
			}
			hosts, groups, err := inventory.Count([]byte(text), format)
			if err != nil || hosts != len(c.Hosts) || groups != len(c.Groups)-2 {
				t.Fatalf("%d, %d, %v", hosts, groups, err)
			}
		}
	})
}
