package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestNamesAreCompleted: each argument and flag that names a stored object is completed.
func TestNamesAreCompleted(t *testing.T) {
	t.Parallel()
	environ, _ := everythingServer(t)
	// Arguments that name no stored object.
	others := []string{"FILE", "PATH", "DIR", "SERVER", "METHOD", "FORMAT", "PLAYBOOK", "RESOURCE", "VERSION"}
	except := map[string]string{
		"audit receipt RUN": "of a database on this machine",
		"user new USERNAME": "names a new account",
		"login --user":      "the account of who signs in, before the server knows the caller",
		"import --user":     "an account of the machine with the crontabs", "schedule compare --user": "as of import",
		"--token": "the secret of the connection", "worker --worker-token": "a secret",
		"worker --queue": "a worker has no right to list queues",
	}
	used := map[string]bool{}
	excepted := func(name string) bool { used[name] = except[name] != ""; return used[name] }
	eachCommand(rootCommand(environment{environ: environ}), func(c *cobra.Command) {
		c.SetContext(t.Context())
		check := func(what string, complete cobra.CompletionFunc, given ...string) {
			var names []string
			if complete != nil {
				names, _ = complete(c, given, "")
			}
			if !slices.ContainsFunc(names, func(s string) bool { return s == "web" || strings.HasPrefix(s, "x_1") }) {
				t.Errorf("writ %s is not completed: %q", what, names)
			}
		}
		name := strings.Join(wordsOf(c), " ")
		for i, argument := range strings.Fields(c.Use)[1:] {
			what := name + " " + strings.Trim(argument, "[].")
			object := slices.ContainsFunc(strings.Split(strings.Trim(argument, "[]."), "|"), func(s string) bool {
				return !slices.Contains(others, s)
			})
			if object && c.Name() != "create" && !excepted(what) {
				check(what, c.ValidArgsFunction, slices.Repeat([]string{"web"}, i)...)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			_, object := findNoun(f.Name)
			object = object || f.Name == "context"
			if what := name + " --" + f.Name; object && strings.HasPrefix(f.Value.Type(), "string") &&
				c.Flag("server") != nil && !excepted("--"+f.Name) && !excepted(what) {
				complete, _ := c.GetFlagCompletionFunc(f.Name)
				check(what, complete)
			}
		})
	})
	for name := range except {
		if !used[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestCompletionOfObjectsWithoutNames completes ids, with what they are.
func TestCompletionOfObjectsWithoutNames(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{}).with(map[string]any{
		"GET /v1/drift/ignores": obj{"ignores": []obj{{"id": "dig_1", "host": "web*", "resource": "file /etc/motd"}},
			"total": 1},
		"GET /v1/fleet": obj{"hosts": []obj{{"host": "web-1"}, {"host": "web-1"}}, "total": 2},
	})
	for args, want := range map[string]string{
		"drift ignore show ":     "dig_1\tweb* file /etc/motd\n:4\n",
		"host web":               "web-1\n:4\n",
		"drift ignore add web-1": ":4\n", // and then a resource
	} {
		words := append([]string{cobra.ShellCompRequestCmd}, strings.Split(args, " ")...)
		if strings.HasSuffix(args, "add web-1") {
			words = append(words, "")
		}
		if _, out, _ := call(t, f, words...); out != want {
			t.Errorf("%s: %q", args, out)
		}
	}
	f.asked(t, "GET /v1/fleet?limit=1000&q=web ")
	_, out, _ := call(t, f, cobra.ShellCompRequestCmd, "user", "delete", "--db", "x.db", "")
	if !strings.HasPrefix(out, ":") {
		t.Errorf("accounts of a server for those of a database: %q", out)
	}
}
