package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

const launchExample = `  writ launch deploy --answer release=1.4.0 --limit web -f
  writ launch deploy --answers-file answers.yaml --json`

// launchFlags are the values that a launch adds to a template. Only set flags are sent.
type launchFlags struct {
	following

	answers, extraVars, credentials, labels  []string
	answersFile, limit, inventory, change, k string
	tags, skipTags                           []string
	forks, verbosity                         int
	dryRun, diff                             bool
}

func launchCommand(w environment) *cobra.Command {
	var f launchFlags
	c := &cobra.Command{
		Use: "launch NAME", Short: "Launch a template, answering its survey", Example: launchExample,
		Args: args(cobra.ExactArgs(1)),
	}
	fs := c.Flags()
	fs.StringArrayVarP(&f.answers, "answer", "a", nil, "k=v, an answer to the survey (repeatable)")
	fs.StringVar(&f.answersFile, "answers-file", "", "answers as YAML; --answer overrides them")
	fs.StringArrayVarP(&f.extraVars, "extra-var", "e", nil, "k=v as text, or k:=JSON (repeatable)")
	fs.StringArrayVar(&f.credentials, "credential", nil,
		"id of a credential, where the template lets callers choose it (repeatable)")
	fs.StringVarP(&f.limit, "limit", "l", "", "host pattern")
	fs.StringVarP(&f.inventory, "inventory", "i", "", "stored inventory, by name or id")
	fs.StringSliceVarP(&f.tags, "tags", "t", nil, "only plays and tasks with these tags")
	fs.StringSliceVar(&f.skipTags, "skip-tags", nil, "skip plays and tasks with these tags")
	fs.BoolVarP(&f.dryRun, "dry-run", "n", false, "change nothing")
	fs.IntVar(&f.forks, "forks", 0, "number of hosts at once")
	fs.CountVarP(&f.verbosity, "verbose", "v", "more output of the tool (-v to -vvvv)")
	fs.BoolVar(&f.diff, "diff", false, "show differences of changed files")
	fs.StringArrayVar(&f.labels, "label", nil, "k=v (repeatable)")
	fs.StringVar(&f.change, "change", "", "change that the run belongs to")
	fs.BoolVarP(&f.follow, "follow", "f", false, "follow the run to its end (default on a terminal)")
	fs.BoolVar(&f.raw, "log", false, "show the tool's output instead of progress")
	fs.StringVar(&f.k, "idempotency-key", "",
		"key of this launch: a second launch with it within 24 hours returns the same run")
	return clientCommand(w, c, func(ctx context.Context, cl *client, a []string, out printer) error {
		f.unlessSet(c, out)
		return f.launch(ctx, cl, a[0], c.Flags().Changed, out)
	})
}

func (f *launchFlags) launch(
	ctx context.Context, c *client, name string, changed func(string) bool, out printer,
) error {
	body, err := f.overrides(changed)
	if err != nil {
		return err
	}
	provided, err := f.answerTexts()
	if err != nil {
		return err
	}
	id, err := c.find(ctx, manifest.Template, name)
	if err != nil {
		return err
	}
	var t struct {
		Survey []question `json:"survey"`
	}
	if err := c.call(ctx, http.MethodGet, objectPath(manifest.Template, id), nil, &t); err != nil {
		return err
	}
	if f.inventory != "" {
		if body["inventory_id"], err = c.find(ctx, manifest.Inventory, f.inventory); err != nil {
			return err
		}
	}
	answers, err := answer(t.Survey, provided)
	if err != nil {
		return err
	}
	if missing := unanswered(t.Survey, answers); len(missing) > 0 {
		if !interactive(out.in) {
			return usagef("the survey requires %s: give it with --answer k=v", strings.Join(missing, ", "))
		}
		if err := (&asker{in: bufio.NewReader(out.in), out: out.err}).ask(t.Survey, answers); err != nil {
			return err
		}
	}
	if len(answers) > 0 {
		body["answers"] = answers
	}
	return f.send(ctx, c, id, body, out)
}

func (f *launchFlags) send(ctx context.Context, c *client, id string, body map[string]any, out printer) error {
	with := *c
	if f.k != "" {
		with.header = http.Header{"Idempotency-Key": {f.k}}
	}
	var r record
	if err := with.call(ctx, http.MethodPost, objectPath(manifest.Template, id)+"/launch", body, &r); err != nil {
		return err
	}
	return f.show(ctx, c, r, out)
}

// overrides makes the body from the flags that are set.
func (f *launchFlags) overrides(changed func(string) bool) (map[string]any, error) {
	vars, varsErr := variables(f.extraVars)
	labels, labelsErr := pairs("label", f.labels)
	if err := firstError(varsErr, labelsErr); err != nil {
		return nil, err
	}
	body := map[string]any{}
	for _, m := range []struct {
		flag, member string
		value        any
	}{
		{"extra-var", "extra_vars", vars}, {"credential", "credential_ids", f.credentials}, {"limit", "limit", f.limit},
		{"tags", "tags", f.tags}, {"skip-tags", "skip_tags", f.skipTags}, {"dry-run", "dry_run", f.dryRun},
		{"forks", "forks", f.forks},
		{"verbose", "verbosity", f.verbosity}, {"diff", "diff_mode", f.diff}, {"label", "labels", labels},
		{"change", "change", f.change},
	} {
		if changed(m.flag) {
			body[m.member] = m.value
		}
	}
	return body, nil
}

// answerTexts reads the answers of the file and of the flags, as they are written.
func (f *launchFlags) answerTexts() (map[string]string, error) {
	out := map[string]string{}
	if f.answersFile != "" {
		file, err := os.Open(f.answersFile)
		if err != nil {
			return nil, usageError{err}
		}
		defer func() { _ = file.Close() }()
		if out, err = manifest.Answers(f.answersFile, file); err != nil {
			return nil, usageError{err}
		}
	}
	input, err := pairs("answer", f.answers)
	for k, v := range input {
		out[k] = v
	}
	return out, err
}

// find returns the id of an object by its exact name; an id is returned unchanged.
func (c *client) find(ctx context.Context, kind, name string) (string, error) {
	if manifest.IsID(kind, name) {
		return name, nil
	}
	k, _ := manifest.KindOf(kind)
	rows, err := c.rows(ctx, k.Path, k.Plural, url.Values{"name": {name}})
	if err != nil {
		return "", err
	}
	var ids, candidates []string
	for _, r := range rows {
		if stringField(r, "name") != name {
			continue
		}
		ids = append(ids, stringField(r, "id"))
		org := "no organization"
		if o := stringField(r, "org_id"); o != "" {
			org = "organization " + c.orgName(ctx, o)
		}
		candidates = append(candidates, oneLine(fmt.Sprintf("%s (%s)", stringField(r, "id"), org), 200))
	}
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("there is no %s %q", strings.ToLower(kind), name)
	case 1:
		return ids[0], nil
	default:
		return "", fmt.Errorf("several are named %q; give one of the ids: %s", name, strings.Join(candidates, ", "))
	}
}

// orgName returns an organization's name and id, or only its id if the name is not visible.
func (c *client) orgName(ctx context.Context, id string) string {
	o, _, err := c.exchange(ctx, http.MethodGet, "/v1/orgs/"+url.PathEscape(id), "", nil)
	if name := stringField(o, "name"); err == nil && name != "" {
		return fmt.Sprintf("%s, %s", name, id)
	}
	return id
}

// question is one question of a survey.
type question struct {
	Var      string          `json:"var"`
	Type     string          `json:"type"`
	Label    string          `json:"label"`
	Help     string          `json:"help"`
	Required bool            `json:"required"`
	Default  json.RawMessage `json:"default"`
	Choices  []string        `json:"choices"`
}

// preset is the default as a person would write it, empty for none.
func (q *question) preset() string {
	var s string
	if len(q.Default) == 0 || string(q.Default) == "null" {
		return ""
	}
	if json.Unmarshal(q.Default, &s) == nil {
		return s
	}
	return string(q.Default)
}

// hasDefault reports whether the server has a default for an unanswered question.
func (q *question) hasDefault() bool { return len(q.Default) > 0 && string(q.Default) != "null" }
