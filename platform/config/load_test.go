package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/platform/config"
)

type settings struct {
	addr    string
	open    bool
	execs   int
	timeout time.Duration
	retain  time.Duration
	logCap  int64
	proxies []string
}

func flags(t *testing.T, args ...string) (*pflag.FlagSet, *settings) {
	t.Helper()
	var s settings
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	fs.String("config", "", "")
	fs.StringVar(&s.addr, "addr", "127.0.0.1:8080", "")
	fs.BoolVar(&s.open, "open", false, "")
	fs.IntVar(&s.execs, "executors", 16, "")
	config.DurationVar(fs, &s.timeout, "run-timeout", 0, "")
	config.DaysVar(fs, &s.retain, "retain-runs", 0, "")
	config.SizeVar(fs, &s.logCap, "log-cap", 256<<20, "")
	fs.StringSliceVar(&s.proxies, "trusted-proxies", nil, "")
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs, &s
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "writ.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := "addr: file:1\nexecutors: 1\nretain-runs: 90d\nrun-timeout: 3600\n"
	env := []string{"WRIT_ADDR=env:1", "WRIT_EXECUTORS=2", "PATH=/bin", "WRIT_OPEN="}
	fs, s := flags(t, "--addr", "flag:1")
	if err := config.Load(fs, config.Sources{File: writeFile(t, file), Environ: env}); err != nil {
		t.Fatal(err)
	}
	if s.addr != "flag:1" || s.execs != 2 || s.retain != 90*24*time.Hour || s.timeout != time.Hour ||
		s.logCap != 256<<20 || s.open {
		t.Errorf("%+v", s)
	}
	fs, s = flags(t)
	if err := config.Load(fs, config.Sources{File: writeFile(t, file), Environ: env}); err != nil {
		t.Fatal(err)
	}
	if s.addr != "env:1" {
		t.Errorf("the environment does not beat the file: %q", s.addr)
	}
	fs, s = flags(t, "--addr", "127.0.0.1:8080")
	if err := config.Load(fs, config.Sources{File: writeFile(t, file)}); err != nil {
		t.Fatal(err)
	}
	if s.addr != "127.0.0.1:8080" {
		t.Errorf("a flag set to its default does not beat the file: %q", s.addr)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	want := []string{"10.0.0.0/8", "::1/128"}
	for name, src := range map[string]config.Sources{
		"list":  {File: writeFile(t, "trusted-proxies:\n  - 10.0.0.0/8\n  - ::1/128\n")},
		"comma": {File: writeFile(t, "trusted-proxies: 10.0.0.0/8, ::1/128\n")},
		"env":   {Environ: []string{"WRIT_TRUSTED_PROXIES=10.0.0.0/8,::1/128"}},
	} {
		fs, s := flags(t)
		if err := config.Load(fs, src); err != nil || !slices.Equal(s.proxies, want) {
			t.Errorf("%s: %q %v", name, s.proxies, err)
		}
	}
}

// TestSections reads a key with names and settings below it, and refuses what is none.
func TestSections(t *testing.T) {
	t.Parallel()
	read := func(text string) (config.Section, error) {
		var s config.Section
		fs, _ := flags(t)
		err := config.Load(fs, config.Sources{File: writeFile(t, text), Sections: map[string]*config.Section{"boxes": &s}})
		return s, err
	}
	got, err := read("addr: a\nboxes:\n  one: {size: 007, paths: [/a, /b]}\n  two:\n")
	one := got["one"]
	if err != nil || len(got) != 2 || one["size"][0] != "007" || len(one["paths"]) != 2 || len(got["two"]) != 0 {
		t.Errorf("%v %v", got, err)
	}
	for text, want := range map[string]string{
		"boxes: [a]": "line 1: boxes: expected names with settings", "boxes: {a: b}": "boxes: a: expected names",
		"boxes: {a: {b: {c: d}}}": "boxes: a: b: expected a value", "boxes: {a: {b: [[c]]}}": "a list of plain values",
		"boxes: {a: {b: 1, b: 2}}": "b is set twice", "boxes: {a: {}, a: {}}": "a is set twice",
		"boxes: {}\nboxes: {}": "already set in line 1",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"addr: a\n\nrun-timout: 3\n", `line 3: unknown key "run-timout"`},
		{"config: other.yaml\n", `line 1: unknown key "config"`},
		{"addr: a\naddr: b\n", `line 2: key "addr" is already set in line 1`},
		{"addr:\n  host: x\n", "line 1: addr: expected a value, not keys"},
		{"addr: [a, b]\n", "line 1: addr: expected one value, not a list"},
		{"\nexecutors: sixteen-hunter2\n", "line 2: executors is not a valid int"},
		{"run-timeout: 90d\n", "line 1: expected a time such as 90s or 12h"},
		{"- addr\n", "line 1: expected keys with values"},
		{"addr: a\n---\naddr: b\n", "more than one document"},
		{"addr: [\n", "yaml"},
		{"trusted-proxies: [[a]]\n", "line 1: trusted-proxies: expected a list of plain values"},
	} {
		fs, _ := flags(t)
		err := config.Load(fs, config.Sources{File: writeFile(t, c.text), NotInFile: []string{"config"}})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	fs, _ := flags(t)
	if err := config.Load(fs, config.Sources{File: filepath.Join(t.TempDir(), "none.yaml")}); err == nil {
		t.Error("a missing file is accepted")
	}
	for _, empty := range []string{"", "# nothing\n", "addr:\n"} {
		fs, s := flags(t)
		if err := config.Load(fs, config.Sources{File: writeFile(t, empty)}); err != nil || s.addr != "127.0.0.1:8080" {
			t.Errorf("%q: %q %v", empty, s.addr, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	var warned []string
	fs, _ := flags(t)
	err := config.Load(fs, config.Sources{
		Environ:  []string{"WRIT_EXECUTOR=3", "WRIT_TOKEN=writ_secret", "WRITTEN=1", "WRIT_RUN_TIMEOUT=soon-hunter2"},
		Reserved: []string{"WRIT_TOKEN"},
		Warn:     func(m string) { warned = append(warned, m) },
	})
	if err == nil || !strings.Contains(err.Error(), "WRIT_RUN_TIMEOUT: expected a time") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "WRIT_EXECUTOR") {
		t.Errorf("warned of %q", warned)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	duration := func() (*time.Duration, pflag.Value) {
		fs, d := pflag.NewFlagSet("", pflag.ContinueOnError), new(time.Duration)
		config.DaysVar(fs, d, "x", time.Second, "")
		return d, fs.Lookup("x").Value
	}
	for text, want := range map[string]time.Duration{"90": 90 * time.Second, "90s": 90 * time.Second,
		"1h30m": 90 * time.Minute, "2d": 48 * time.Hour, "0": 0} {
		d, v := duration()
		if err := v.Set(text); err != nil || *d != want {
			t.Errorf("%q is %v, %v", text, *d, err)
		}
		back, b := duration()
		if err := b.Set(v.String()); err != nil || *back != want {
			t.Errorf("%q prints as %q", text, v.String())
		}
	}
	for _, bad := range []string{"", "-1", "-5s", "d", "1.5d", "99999999999999999999", "9223372036854775807",
		"9223372036854d", "soon"} {
		if d, v := duration(); v.Set(bad) == nil {
			t.Errorf("%q is accepted as %v", bad, *d)
		}
	}
	size := func() (*int64, pflag.Value) {
		fs, n := pflag.NewFlagSet("", pflag.ContinueOnError), new(int64)
		config.SizeVar(fs, n, "x", 0, "")
		return n, fs.Lookup("x").Value
	}
	for text, want := range map[string]int64{"0": 0, "1024": 1024, "64MiB": 64 << 20, "1g": 1 << 30, "2 KiB": 2048,
		"3MB": 3 << 20} {
		if n, v := size(); v.Set(text) != nil || *n != want {
			t.Errorf("%q is %d", text, *n)
		}
	}
	for _, bad := range []string{"", "-1", "MiB", "1e9", "99999999T"} {
		if n, v := size(); v.Set(bad) == nil {
			t.Errorf("%q is accepted as %d", bad, *n)
		}
	}
}
