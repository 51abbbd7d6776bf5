package inventory

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/depthtest"
)

func TestConvert(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`:                       `{"all":{}}`,
		`{"_meta":{}}`:             `{"all":{}}`,
		`{"g":["a","a","b"]}`:      `{"all":{},"g":{"hosts":{"a":{},"b":{}}}}`,
		`{"g":{"x":1}}`:            `{"all":{},"g":{"hosts":{"g":{}},"vars":{"x":1}}}`,
		`{"g":{}}`:                 `{"all":{},"g":{}}`,
		`{"g":["a"],"g":["b"]}`:    `{"all":{},"g":{"hosts":{"b":{}}}}`,
		`{"a":{"children":["a"]}}`: `{"all":{},"a":{"children":{"a":{}}}}`,
		` { "b" : { "hosts" : [ "h" ] , "vars" : { "n" : 1.10 } } , "all" : { "children" : [ "c", "b" ] , "hosts":["z"]}, "c":{"vars":null}, ` +
			`"_meta":{"hostvars":{"h":{"k":[1, 2]},"z":null}}}`: `{"all":{"hosts":{"z":{}},` +
			`"children":{"c":{},"b":{}}},"c":{},"b":{"hosts":{"h":{"k":[1,2]}},"vars":{"n":1.10}}}`,
		`{"x":{"hosts":["h"]},"y":{"hosts":["h"]},"_meta":{"hostvars":{"h":{"a":1e400}}}}`: `{"all":{},"x":{"hosts":{"h":{"a":1e400}}},"y":{"hosts":{"h":{}}}}`,
	} {
		if got, err := convert([]byte(in)); string(got) != want || err != nil {
			t.Errorf("%s\n%s\n%s %v", in, got, want, err)
		}
	}
	for _, in := range []string{
		``, `[]`, `1`, `{`, `{"a"`, `{"a":1}`, `{"a":"x"}`, `{"a":null}x`, `{"a":{"hosts":{}}}`, `{"a":{"hosts":[1]}}`,
		`{"a":{"children":"b"}}`,
		`{"a":{"vars":[1]}}`,
		`{"_meta":[]}`, `{"_meta":{"hostvars":[]}}`, `{} {}`, `{"a":[NaN]}`, `{"a":{"hosts":["h"],"vars":{"x":NaN}}}`,
		strings.Repeat(`{"a":`, 20000),
	} {
		if got, err := convert([]byte(in)); !catalog.RefreshFailed.Is(err) || got != nil {
			t.Errorf("%.40s: %s %v", in, got, err)
		}
	}
}

// TestConvertKeepsAll converts generated listings and looks for each of their parts.
func TestConvertKeepsAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, 8, 32)
		doc := map[string]any{}
		hostvars := map[string]any{}
		members := rapid.MapOf(name, rapid.SliceOf(name)).Draw(t, "groups")
		for g, hosts := range members {
			if g == "_meta" {
				delete(members, g)
				continue
			}
			doc[g] = map[string]any{"hosts": hosts, "vars": map[string]any{g: g}}
			for _, h := range hosts {
				hostvars[h] = map[string]any{"me": h}
			}
		}
		doc["_meta"] = map[string]any{"hostvars": hostvars}
		in, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		out, err := convert(in)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]struct {
			Hosts map[string]map[string]string
			Vars  map[string]string
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		written := map[string]bool{}
		for g, hosts := range members {
			if got[g].Vars[g] != g {
				t.Fatalf("%q has %v", g, got[g].Vars)
			}
			for _, h := range hosts {
				if vars, ok := got[g].Hosts[h]; !ok {
					t.Fatalf("%q is not in %q", h, g)
				} else if vars["me"] == h {
					written[h] = true
				}
			}
		}
		if len(written) != len(hostvars) {
			t.Fatalf("%d hosts of %d have their variables", len(written), len(hostvars))
		}
	})
}

// large returns a listing of that many hosts.
func large(hosts int) []byte {
	var b strings.Builder
	b.WriteString(`{"_meta":{"hostvars":{`)
	for i := range hosts {
		fmt.Fprintf(&b, `%s"host%06d":{"ansible_host":"10.1.2.3","rack":%d,"tags":["a","b"],"note":"%s"}`, comma(i), i, i%40,
			strings.Repeat("x", 40))
	}
	b.WriteString(`}}`)
	for g := range 100 {
		fmt.Fprintf(&b, `,"g%d":{"hosts":[`, g)
		for n, i := 0, g; i < hosts; n, i = n+1, i+100 {
			fmt.Fprintf(&b, `%s"host%06d"`, comma(n), i)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`}`)
	return []byte(b.String())
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// TestConvertIsLinear compares the CPU time of its thread at two sizes, to which other tests do not add.
func TestConvertIsLinear(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spent := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	of := func(hosts int) time.Duration {
		in, begin := large(hosts), spent()
		for range 10 {
			if out, err := convert(in); err != nil || !json.Valid(out) {
				t.Fatal(err)
			}
		}
		return spent() - begin
	}
	small := depthtest.Of(2000, 5000)
	// The kernel counts in ticks, so a short time may be a few milliseconds off.
	if one, ten := max(of(small), 5*time.Millisecond), of(10*small); ten > 60*one {
		t.Errorf("%d hosts take %s, ten times as many %s", small, one, ten)
	}
}

func BenchmarkConvert(b *testing.B) {
	in := large(50_000)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := convert(in); err != nil {
			b.Fatal(err)
		}
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]catalog.Format{
		"": catalog.INI, "h1\nh2\n": catalog.INI, "[web]\nh1\n": catalog.INI, "# x\n\n[web]": catalog.INI,
		"h1:22 a=b": catalog.INI, "h1 x={a: 1}": catalog.INI,
		`{"all":{}}`: catalog.JSON, "\n {}": catalog.JSON, "{all: {}}": catalog.YAML, "---\nall:": catalog.YAML,
		"# x\nall:\n  hosts:": catalog.YAML,
		"all: {}":             catalog.YAML, "'all': # x": catalog.YAML, "[a:vars]\nx=1": catalog.INI, "h[1:3]": catalog.INI,
		"web:children": catalog.INI,
	} {
		if got := detectFormat([]byte(text)); got != want {
			t.Errorf("%q is %s", text, got)
		}
	}
}
