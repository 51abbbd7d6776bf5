package facts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/estate/internal/facts"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
)

func rules(t testing.TB, more ...string) *facts.Rules {
	t.Helper()
	r, err := facts.New(more)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFlatten(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		`{}`: ``,
		`{"a":1,"b":{"c":"x","d":{}},"e":[],"f":null}`:                `a=1 b.c="x" b.d={} e=[] f=null`,
		`{"a": [1, "x",   {"b" :2}]}`:                                 `a=[1,"x",{"b":2}]`,
		`{"a.b":1,"":{"\"":2},"ü":3,"1":4,"-":5}`:                     `"a.b"=1 ""."\""=2 ü=3 1=4 -=5`,
		`{"m":[{"mount":"/","size":1},{"mount":"/a.b","x":{"y":1}}]}`: `m."/a.b".mount="/a.b" m."/a.b".x.y=1 m./.mount="/" m./.size=1`,
		`{"m":[{"mount":"/","name":"a"},{"mount":"/","name":"b"}]}`:   `m.a.mount="/" m.a.name="a" m.b.mount="/" m.b.name="b"`,
		`{"m":[{"name":"a"},{"name":"a"}]}`:                           `m=[{"name":"a"},{"name":"a"}]`,
		`{"m":[{"name":"a"},1]}`:                                      `m=[{"name":"a"},1]`,
		`{"m":[{"name":1}]}`:                                          `m=[{"name":1}]`,
		`{"a":1,"a":{"b":2},"b":{"c":1},"b":3}`:                       `a.b=2 b=3`,
		`{"n":[1e999999,-0,1.0,123456789012345678901234567890]}`:      `n=[1e999999,-0,1.0,123456789012345678901234567890]`,
		`{"ansible_interfaces":["lo","eth0"],"dns":["b","a"]}`:        `ansible_interfaces=["eth0","lo"] dns=["b","a"]`,
		`{"s":"\u0041\ud800<","o":[{"b":1,"a":2}]}`:                   "s=\"A\uFFFD<\" o=[{\"a\":2,\"b\":1}]",
	} {
		stable, volatile, err := rules(t).Flatten([]byte(document))
		if err != nil || len(volatile) > 0 {
			t.Errorf("%s: %v, %v", document, volatile, err)
		}
		var got []string
		for _, k := range slices.Sorted(maps.Keys(stable)) {
			got = append(got, k+"="+string(stable[k]))
		}
		fields := strings.Fields(want)
		slices.Sort(fields)
		slices.Sort(got)
		if d := cmp.Diff(strings.Join(fields, " "), strings.Join(got, " ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", document, d)
		}
	}
}

func TestVolatile(t *testing.T) {
	t.Parallel()
	r := rules(t, "x.*.y", `"a.b"`, "all.**", "*.load")
	for key, want := range map[string]bool{
		"ansible_date_time.epoch": true, "ansible_date_time": true, "ansible_date_timer": false, "ansible_env.PATH": false,
		"ansible_mounts./.size_available": true, `ansible_mounts."/a.b".size_available`: true,
		"ansible_mounts./.size_total": false,
		"x.1.y":                       true, "x.y": false, "x.1.y.z": false, `"a.b"`: true, "a.b": false, "all": true,
		"all.a.b.c": true,
		"any.load":  true, "any.load.1": false, "": false, "a..b": false, `"`: false, `a"b"`: false, `"a"b`: false,
		"ansible_env.": false,
	} {
		if got := r.Volatile(key); got != want {
			t.Errorf("%s: %t", key, got)
		}
	}
	stable, volatile, err := r.Flatten([]byte(`{"x":{"a":{"y":1,"z":2}},"all":{}}`))
	want := [2]estate.Facts{{"x.a.z": []byte("2")}, {"x.a.y": []byte("1"), "all": []byte("{}")}}
	if d := cmp.Diff(want, [2]estate.Facts{stable, volatile}); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for _, bad := range []string{"", "a..b", "a.", "**.a", "a.**.b", `"a`, `a"b"`} {
		if _, err := facts.New([]string{bad}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestHostileDocuments stores or refuses what no tool sends.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	members := func(n int, name string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%d":%d`, name, i, i)
		}
		return b.String()[1:]
	}
	for name, c := range map[string]struct {
		document string
		keys     int // -1 if it is refused
	}{
		"1,000 levels":           {strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), 1},
		"1,000 lists":            {`{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}", 1},
		"100,000 levels":         {strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), -1},
		"100,000 keys":           {"{" + members(100_000, "") + "}", 100_000},
		"100,000 keys, long":     {`{"` + strings.Repeat("k", 500) + `":{` + members(100_000, "") + "}}", -1},
		"a long key":             {`{"` + strings.Repeat("k", 1<<19) + `":{` + members(50_000, "") + "}}", 1},
		"NUL":                    {`{"a\u0000b":"\u0000"}`, 1},
		"a raw NUL":              {"{\"a\x00\":1}", -1},
		"invalid UTF-8":          {"{\"\xff\":\"\xfe\"}", 1},
		"a half of a surrogate":  {`{"\ud800":"\udfff"}`, 1},
		"two names become equal": {"{\"\xff\":1,\"\xfe\":1}", 1},
		"no object":              {`[{}]`, -1},
		"null":                   {`null`, -1},
		"two":                    {`{}{}`, -1},
		"nothing":                {``, -1},
	} {
		stable, _, err := rules(t).Flatten([]byte(c.document))
		if c.keys < 0 {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || len(stable) != c.keys {
			t.Errorf("%s: %d keys, %v", name, len(stable), err)
		}
	}
}

func check(t interface{ Fatalf(string, ...any) }, r *facts.Rules, document []byte) {
	stable, volatile, err := r.Flatten(document)
	if err != nil {
		if !fault.Is(err, fault.Invalid) {
			t.Fatalf("%q: %v", document, err)
		}
		return
	}
	again, _, _ := r.Flatten(document)
	if !maps.EqualFunc(stable, again, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		t.Fatalf("%q has two forms", document)
	}
	for _, f := range []estate.Facts{stable, volatile} {
		for k, v := range f {
			path, err := facts.Path(k)
			for i := range path {
				path[i] = facts.Segment(path[i])
			}
			if err != nil || strings.Join(path, ".") != k || !json.Valid(v) || !utf8.Valid(v) || !utf8.ValidString(k) {
				t.Fatalf("%q has the fact %q: %q, %v", document, k, v, err)
			}
		}
	}
}

func TestAnyDocument(t *testing.T) {
	t.Parallel()
	r := rules(t)
	name := rapid.OneOf(rapid.String(),
		rapid.SampledFrom([]string{"name", "mount", "a.b", `"`, "", "ansible_env", "\x00", "\xff"}))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalar := rapid.OneOf(rapid.Float64Range(-1e300, 1e300).AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny(),
			rapid.Just[any](nil))
		if depth == 0 {
			return scalar
		}
		return rapid.OneOf(scalar, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(),
			rapid.MapOfN(name, value(depth-1), 0, 4).AsAny())
	}
	rapid.Check(t, func(t *rapid.T) {
		document, err := json.Marshal(rapid.MapOfN(name, value(4), 0, 6).Draw(t, "document"))
		if err != nil {
			t.Fatal(err)
		}
		check(t, r, document)
	})
}

func FuzzFlatten(f *testing.F) {
	for _, s := range []string{`{"a":[{"name":"b"}]}`, `{"a.b":{"":1e9}}`, "{\"\xff\":\"\\ud800\"}", `{"a":1}x`} {
		f.Add([]byte(s))
	}
	r := rules(f)
	f.Fuzz(func(t *testing.T, document []byte) { check(t, r, document) })
}
