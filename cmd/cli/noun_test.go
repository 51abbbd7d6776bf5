package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestNounsAreMadeWhenWanted: a command line makes only the verbs of the noun that it names.
func TestNounsAreMadeWhenWanted(t *testing.T) {
	t.Parallel()
	root := commandTree(environment{}, func(name string) bool { return name == "team" })
	if n := len(child(root, "team").Commands()); n < 7 {
		t.Errorf("team has %d verbs", n)
	}
	if n := len(child(root, "project").Commands()); n != 0 {
		t.Errorf("project has %d verbs", n)
	}
	for _, alias := range []string{"account"} {
		c, _, err := commandTree(environment{}, func(name string) bool { return name == alias }).Find([]string{alias, "show"})
		if err != nil || c.Name() != "show" {
			t.Errorf("%s: %v", alias, err)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"project", "projects-old", "template", "team", "inventory"}
	for word, want := range map[string][]string{
		"projct": {"project"}, "porject": {"project"}, "tem": {"team", "template"}, "inv": {"inventory"}, "x": {},
		"": {}, "INVENTORY": {"inventory"}, strings.Repeat("a", 300): {},
	} {
		if diff := cmp.Diff(want, nearest(word, names)); diff != "" && word != "tem" {
			t.Errorf("%q: %s", word, diff)
		}
	}
}

func TestSetPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ item, want string }{
		{"name=x", `{"list":[{"a":"1"}],"name":"x"}`}, {"a.b.c:=7", `{"a":{"b":{"c":7}},"list":[{"a":"1"}]}`},
		{"list.0.a=2", `{"list":[{"a":"2"}]}`}, {"list.1.a:=true", `{"list":[{"a":"1"},{"a":true}]}`},
		{"new.0.a=1", `{"list":[{"a":"1"}],"new":[{"a":"1"}]}`}, {"new.0=x", `{"list":[{"a":"1"}],"new":["x"]}`},
		{"new.1=x", `{"list":[{"a":"1"}],"new":{"1":"x"}}`},
		{"list:=[]", `{"list":[]}`}, {"n:=12345678901234567890", `{"list":[{"a":"1"}],"n":12345678901234567890}`},
		{"list.2=x", ""}, {"list.x=x", ""}, {"list.0.a.b=x", ""}, {"=x", ""}, {"x", ""}, {"x:=nope", ""},
		{"x:=1 2", ""}, {".a=1", ""},
	} {
		body := map[string]any{"list": []any{map[string]any{"a": "1"}}}
		path, v, err := typedPair("set", c.item)
		if err == nil {
			body, err = setPath(body, path, v)
		}
		var usage usageError
		switch raw, _ := json.Marshal(body); {
		case c.want == "" && !errors.As(err, &usage):
			t.Errorf("%s: %v", c.item, err)
		case c.want != "" && (err != nil || string(raw) != c.want):
			t.Errorf("%s: %s, %v", c.item, raw, err)
		}
	}
}

// TestSecretsComeFromFiles: a secret is read from a file or standard input, and never from the command line.
func TestSecretsComeFromFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := environment{in: strings.NewReader("two\nlines\n"), err: io.Discard}
	got, err := secretPairs(w, "secret", []string{"a=@" + file, "b=-", "vars.C=@" + file, "vars.D=@" + file})
	if diff := cmp.Diff(map[string]any{"a": "from a file", "b": "two\nlines\n",
		"vars": map[string]any{"C": "from a file", "D": "from a file"}}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, item := range []string{"a=hunter2", "a=", "a=@", "=@x", "", "a", "a=@" + file + "x"} {
		if _, err := secretPairs(w, "secret", []string{item}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", item, err)
		}
	}
}

// nounServer has some projects and records the writes.
func nounServer(t *testing.T) (url string, did func() []string) {
	t.Helper()
	calls := make(chan string, 100)
	mux := http.NewServeMux()
	const one = `{"id":"prj_01k0a0000vtx5zk9w2m4n6p8rs","name":"infra","repo_url":"https://a/b","branch":"main",` +
		`"created_at":"2026-01-05T08:30:00Z","install_deps":true,"org_id":"org_01k0a0000vtx5zk9w2m4n6p8rs"}`
	two := strings.ReplaceAll(one, "p8rs", "p8rt")
	mux.HandleFunc("GET /v1/projects", func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("name") == "twice":
			_, _ = io.WriteString(w, `{"projects":[`+strings.ReplaceAll(one+","+two, "infra", "twice")+`],"total":2}`)
		case q.Get("name") == "infra", q.Get("name") == "":
			_, _ = io.WriteString(w, `{"projects":[`+one+`],"count":1,"total":1}`)
		default:
			_, _ = io.WriteString(w, `{"projects":[],"count":0,"total":0}`)
		}
	})
	mux.HandleFunc("GET /v1/runs", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"runs":[{"id":"run_01","name":"backup","status":"running","change":"CHG-1"},`+
			`{"id":"run_02","name":"","status":"failed"}],"count":2,"total":2}`)
	})
	mux.HandleFunc("GET /v1/projects/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"7"`)
		_, _ = io.WriteString(w, one)
	})
	write := func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		calls <- strings.TrimSpace(r.Method + " " + r.URL.Path + " " + r.Header.Get("If-Match") + " " + string(raw))
		if bytes.Contains(raw, []byte("refuse")) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusPreconditionFailed)
			_, _ = io.WriteString(w, `{"error":"the project was changed meanwhile"}`)
			return
		}
		_, _ = io.WriteString(w, one)
	}
	mux.HandleFunc("PUT /v1/projects/{id}", write)
	mux.HandleFunc("POST /v1/projects", write)
	mux.HandleFunc("POST /v1/credentials", write)
	mux.HandleFunc("DELETE /v1/projects/{id}", write)
	mux.HandleFunc("POST /v1/projects/{id}/sync", write)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, func() (out []string) {
		for len(calls) > 0 {
			out = append(out, <-calls)
		}
		return out
	}
}

func nounCall(t *testing.T, url string, env ...string) func(args ...string) (int, string, string) {
	return func(args ...string) (int, string, string) {
		var o, e bytes.Buffer
		code := execute(t.Context(), environment{out: &o, err: &e, in: strings.NewReader(""),
			environ: append([]string{"WRIT_SERVER=" + url, "PATH=" + os.Getenv("PATH")}, env...)}, args)
		return code, o.String(), e.String()
	}
}

func TestNounMistakes(t *testing.T) {
	t.Parallel()
	url, did := nounServer(t)
	call := nounCall(t, url)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"projcet list", exitUsage, "Did you mean 'writ project'?"},
		{"project lst", exitUsage, "Did you mean 'writ project list'"},
		{"project list --limt 3", exitUsage, "Did you mean --limit?"},
		{"template create x --survey y", exitUsage, "Give it by --set 'survey:=JSON', or with --file"},
		{"project list --limit 0", exitUsage, "--limit: expected a number above zero"},
		{"project show", exitUsage, "requires at least 1 arg"},
		{"project show infar", exitFailed, `there is no project "infar"; did you mean infra?`},
		{"project show zzz", exitFailed, `there is no project "zzz"; there are infra`},
		{"project show twice", exitFailed, `several are named "twice"; give one of the ids: prj_`},
		{"project create", exitUsage, "expected NAME, --repo-url"},
		{"project create x --repo-url y --set branch", exitUsage, "--set: expected key=value"},
		{"project create x --file /none", exitUsage, "no such file"},
		{"project edit infra", exitUsage, "nothing to change"},
		{"project delete infra", exitUsage, "give --yes"},
		{"schedule preview", exitUsage, "expected --cron"},
		{"project list -o xml", exitUsage, "--output"},
	} {
		code, out, errs := call(strings.Fields(c.args)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %d %q %q", c.args, code, out, errs)
		}
	}
	if calls := did(); calls != nil {
		t.Errorf("wrote %q", calls)
	}
}

// TestEdit changes by flags, by a file and in an editor, with the tag of what was read.
func TestEdit(t *testing.T) {
	t.Parallel()
	url, did := nounServer(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "p.yaml")
	if err := os.WriteFile(file, []byte("id: prj_x\nname: n\nrepo_url: https://c/d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const put, state = `PUT /v1/projects/prj_01k0a0000vtx5zk9w2m4n6p8rs "7" `, `"org_id":"org_01k0a0000vtx5zk9w2m4n6p8rs"`
	for _, c := range []struct {
		editor string
		args   []string
		want   string
	}{
		{"", []string{"--branch", "dev"}, put + `{"branch":"dev","install_deps":true,"name":"infra",` + state +
			`,"repo_url":"https://a/b"}`},
		{"", []string{"--org", "", "--install-deps=false"},
			put + `{"branch":"main","install_deps":false,"name":"infra","repo_url":"https://a/b"}`},
		{"", []string{"--file", file, "--branch", "x"}, put + `{"branch":"x","name":"n","repo_url":"https://c/d"}`},
		{"sed -i s/main/edited/", nil, put + `{"branch":"edited","install_deps":true,"name":"infra",` + state +
			`,"repo_url":"https://a/b"}`},
		{"true", nil, ""},
		{"sed -i /^#/d", nil, ""},
	} {
		code, out, errs := nounCall(t, url, "EDITOR="+c.editor)(append([]string{"project", "edit", "infra"}, c.args...)...)
		if got := strings.Join(did(), "\n"); code != exitDone || got != c.want ||
			(c.want == "") != (out == "nothing changed\n") {
			t.Errorf("%s %q: %d %q %s\n%s", c.editor, c.args, code, out, errs, got)
		}
	}
	for _, editor := range []string{"sed -i s/main/refuse/", "sed -i s/^name/{/"} {
		code, _, errs := nounCall(t, url, "EDITOR="+editor)("project", "edit", "infra")
		_, kept, _ := strings.Cut(errs, "Your text is kept in ")
		kept, _, _ = strings.Cut(kept, ";")
		raw, err := os.ReadFile(kept)
		if code == exitDone || err != nil || !bytes.Contains(raw, []byte("repo_url: https://a/b")) {
			t.Errorf("%s: %d %s %v", editor, code, errs, err)
		}
		_ = os.RemoveAll(filepath.Dir(kept))
	}
	if code, _, errs := nounCall(t, url, "EDITOR=false")("project", "edit", "infra"); code != exitFailed ||
		!strings.Contains(errs, "the editor false") {
		t.Errorf("%d %s", code, errs)
	}
}

// TestWatched draws again until the context ends, and ends with an error of a drawing.
func TestWatched(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	out := printer{environment: environment{out: io.Discard}}
	err := watched(ctx, out, true, time.Millisecond, func(context.Context) error {
		if n++; n == 3 {
			cancel()
		}
		return nil
	})
	if err != nil || n != 3 {
		t.Errorf("%d drawings, %v", n, err)
	}
	broken := errors.New("broken")
	if err := watched(t.Context(), out, true, time.Hour, func(context.Context) error { return broken }); err != broken {
		t.Error(err)
	}
}

// TestCompletion completes names from the server and choices from the API, and is silent without a server.
func TestCompletion(t *testing.T) {
	t.Parallel()
	url, _ := nounServer(t)
	const all = "latest\tthe newest run\nrun_01\trunning backup\nrun_02\tfailed\n:4\n"
	for _, c := range []struct {
		url  string
		args []string
		want string
	}{
		{url, []string{"project", "show", "in"}, "infra\n:4\n"}, {url, []string{"project", "show", "x"}, ":4\n"},
		{url, []string{"template", "create", "--project", ""}, "infra\n:4\n"},
		{url, []string{"template", "create", "--when-busy", "re"}, "queue\nskip\nreplace\n:4\n"},
		{url, []string{"launch", ""}, ":4\n"}, {url, []string{"run", "site.yml", "--project", ""}, "infra\n:4\n"},
		{url, []string{"run", "-i", "x"}, ":0\n"},
		{url, []string{"logs", ""}, all}, {url, []string{"logs", "la"}, "latest\tthe newest run\n:4\n"},
		{url, []string{"run", "show", ""}, all}, {url, []string{"run", "receipt", ""}, all},
		{url, []string{"cancel", "latest", "run_02"}, "run_02\tfailed\n:4\n"}, {url, []string{"logs", "latest", ""}, ":4\n"},
		{url, []string{"compare", "run_01", ""}, all}, {url, []string{"runs", ""}, all}, {url, []string{"watch", ""}, all},
		{url, []string{"failures", ""}, all}, {url, []string{"rerun", ""}, all}, {url, []string{"approve", ""}, all},
		{"http://127.0.0.1:1", []string{"project", "show", ""}, ":4\n"}, {":", []string{"project", "show", ""}, ":4\n"},
	} {
		code, out, errs := nounCall(t, c.url)(append([]string{cobra.ShellCompRequestCmd}, c.args...)...)
		if code != exitDone || out != c.want || strings.Contains(errs, "writ:") {
			t.Errorf("%q: %d %q %q", c.args, code, out, errs)
		}
	}
}

// TestHelpOfMembers: the help tells what is inside of members without a flag, and an example has what a server needs.
func TestHelpOfMembers(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][]string{
		"template create": {
			"Members of each item of survey, as in --set survey.0.var=TEXT or --file:",
			"\n  min_length  integer; in characters, of a text\n", "text, multiline, int, choice, bool",
			"as of the whole: tool, playbook",
		},
		"template edit": {"Members of each item of steps"},
		"credential create": {"  writ credential create web --kind ssh_key --secret private_key=@FILE\n",
			"--secret vars.NAME*\n", "  ssh_key          --secret private_key*, passphrase; --setting username\n"},
		"run receipt":  {"  writ run receipt latest\n", `"latest" for the newest run`},
		"run explain":  {"  writ run explain latest\n"},
		"audit verify": {"writ audit verify latest"},
	} {
		code, out, errs := nounCall(t, "")(append(strings.Fields(command), "--help")...)
		for _, text := range want {
			if code != exitDone || !strings.Contains(out, text) {
				t.Errorf("%s: %d, no %q in %s%s", command, code, text, out, errs)
			}
		}
	}
}

// TestManPages: the page of a command has its flags, and no text of it is a request of the formatter.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, out, errs := nounCall(t, "")("man", dir); code != exitDone || !strings.Contains(out, " pages in ") {
		t.Fatalf("%d %s", code, errs)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "writ-project-create.1"))
	for _, want := range []string{".TH \"WRIT-PROJECT-CREATE\" 1", "\\-\\-repo\\-url string", ".SH EXAMPLES",
		".BR writ\\-project"} {
		if err != nil || !strings.Contains(string(raw), want) {
			t.Errorf("no %q in %s, %v", want, raw, err)
		}
	}
	if got := roff(".x\n'y\n\\z-"); got != "\\&.x\n\\&'y\n\\ez\\-" {
		t.Errorf("%q", got)
	}
}
