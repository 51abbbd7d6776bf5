package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

func serveFlagSet() (*pflag.FlagSet, *serveFlags) {
	f := &serveFlags{}
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.register(fs)
	return fs, f
}

// TestExampleNamesEveryFlag compares the documented keys with the flags.
func TestExampleNamesEveryFlag(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "configs", "writ.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := yaml.Unmarshal(raw, &keys); err != nil {
		t.Fatal(err)
	}
	fs, _ := serveFlagSet()
	fs.VisitAll(func(f *pflag.Flag) {
		if _, ok := keys[f.Name]; !ok && f.Name != "config" {
			t.Errorf("the example lacks %s", f.Name)
		}
		delete(keys, f.Name)
	})
	delete(keys, "profiles") // which the file alone has
	for k := range keys {
		t.Errorf("the example has %s, which is no flag", k)
	}
}

// TestConfigsLoad loads and validates every file of configs for a server.
func TestConfigsLoad(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "configs", "*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "worker-") {
			continue // TestWorkerConfigsLoad
		}
		fs, f := serveFlagSet()
		f.config = file
		w := environment{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
		if err := f.load(fs, w); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if _, err := f.settings(w); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestExampleIsTheDefault checks that the example only changes settings that depend on the machine.
func TestExampleIsTheDefault(t *testing.T) {
	t.Parallel()
	want, _ := serveFlagSet()
	got, f := serveFlagSet()
	f.config = filepath.Join("..", "..", "configs", "writ.example.yaml")
	if err := f.load(got, environment{err: &bytes.Buffer{}}); err != nil {
		t.Fatal(err)
	}
	want.VisitAll(func(d *pflag.Flag) {
		if slices.Contains([]string{"executors", "queue", "config"}, d.Name) {
			return
		}
		if v := got.Lookup(d.Name).Value.String(); v != d.DefValue {
			t.Errorf("%s is %q in the example and %q by default", d.Name, v, d.DefValue)
		}
	})
}

func TestServeSettings(t *testing.T) {
	t.Parallel()
	fs, f := serveFlagSet()
	if err := fs.Parse([]string{"--addr", "localhost:0", "--open", "--retain-runs", "90d", "--trusted-proxies",
		"10.1.2.3/8,::1", "--queue", "a,b", "--queue", "c"}); err != nil {
		t.Fatal(err)
	}
	w := environment{out: &bytes.Buffer{}, err: &bytes.Buffer{},
		environ: []string{"WRIT_KILL_GRACE=3", "WRIT_TOKEN=x", "WRIT_EXECUTERS=3"}}
	if err := f.load(fs, w); err != nil {
		t.Fatal(err)
	}
	s, err := f.settings(w)
	if err != nil {
		t.Fatal(err)
	}
	if s.RetainRuns != 90*24*time.Hour || s.KillGrace != 3*time.Second || len(s.Queues) != 2 || s.Queues[0] != "a,b" ||
		len(s.TrustedProxies) != 2 || s.TrustedProxies[0].String() != "10.0.0.0/8" ||
		s.TrustedProxies[1].String() != "::1/128" {
		t.Errorf("%+v", s)
	}
	if warned := w.err.(*bytes.Buffer).String(); !strings.Contains(warned, "WRIT_EXECUTERS") ||
		strings.Contains(warned, "WRIT_TOKEN") {
		t.Errorf("warned: %q", warned)
	}
}

func TestServeUsage(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("addr: 127.0.0.1:0\nexecuters: 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		env  []string
		want string
	}{
		{args: []string{"--open", "--addr", "0.0.0.0:8080"}, want: "loopback"},
		{args: []string{"--open", "--addr", ":8080"}, want: "loopback"},
		{args: []string{"--open", "--addr", "[::]:8080"}, want: "loopback"},
		{args: []string{"--open", "--addr", "writ.example.com:8080"}, want: "loopback"},
		{args: []string{"--addr", "nowhere"}, want: "addr: expected host:port"},
		{args: []string{"--tls-cert", "x"}, want: "set both or none"},
		{args: []string{"--events", "kafka://x"}, want: "events"},
		{args: []string{"--executors", "-1"}, want: "executors"},
		{args: []string{"--public-url", "writ.example.com"}, want: "public-url"},
		{args: []string{"--trusted-proxies", "everybody"}, want: "trusted-proxies"},
		{args: []string{"--log-level", "loud"}, want: "log-level"},
		{args: []string{"--run-timeout", "soon"}, want: "run-timeout"},
		{args: []string{"--config", bad}, want: `bad.yaml line 2: unknown key "executers"`},
		{env: []string{"WRIT_CONFIG=" + bad}, want: `line 2: unknown key "executers"`},
		{env: []string{"WRIT_DRAIN_TIMEOUT=soon"}, want: "WRIT_DRAIN_TIMEOUT"},
		{args: []string{"--nothing"}, want: "unknown flag"},
		{args: []string{"extra"}, want: "unknown command"},
	} {
		var out, errs bytes.Buffer
		w := environment{out: &out, err: &errs, environ: c.env}
		args := append([]string{"serve", "--db", filepath.Join(t.TempDir(), "writ.db")}, c.args...)
		if code := execute(t.Context(), w, args); code != exitUsage || !strings.Contains(errs.String(), c.want) ||
			out.Len() > 0 {
			t.Errorf("%v %v: exit %d, %q, want %q", c.args, c.env, code, errs.String(), c.want)
		}
	}
}
