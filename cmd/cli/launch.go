package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"

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
		"credential, by name or id, where the template lets callers choose it (repeatable)")
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
	f.following.register(c)
	fs.StringVar(&f.k, "idempotency-key", "", keyHelp)
	w.conn = &connection{}
	completeFlags(w, c, map[string]string{"credential": "credential", "inventory": "inventory", "change": "change"})
	return objectsCommand(w, c, func(ctx context.Context, cl *client, a []string, out printer) error {
		f.unlessSet(c, out)
		return f.launch(ctx, cl, a[0], c.Flags().Changed, out)
	}, "template")
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
	id, err := c.find(ctx, "template", name)
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
		if body["inventory_id"], err = c.find(ctx, "inventory", f.inventory); err != nil {
			return err
		}
	}
	if len(f.credentials) > 0 {
		if body["credential_ids"], err = c.findAll(ctx, "credential", f.credentials); err != nil {
			return err
		}
	}
	answers, err := answer(t.Survey, provided, interactive(out.in))
	if err != nil {
		return err
	}
	if len(unanswered(t.Survey, answers)) > 0 { // and somebody is there, else answer had refused
		if err := (&asker{in: bufio.NewReader(out.in), out: out.err}).ask(t.Survey, answers); err != nil {
			return err
		}
	}
	if len(answers) > 0 {
		body["answers"] = answers
	}
	return f.send(ctx, c, objectPath(manifest.Template, id)+"/launch", f.k, body, out)
}

// overrides makes the body from the flags that are set.
func (f *launchFlags) overrides(changed func(string) bool) (map[string]any, error) {
	vars, varsErr := typedPairs("extra-var", f.extraVars)
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

// find returns the id of an object of a noun by its exact name; an id is returned unchanged.
func (c *client) find(ctx context.Context, noun, name string) (string, error) {
	n, _ := findNoun(noun)
	return n.id(ctx, c, name)
}

// findAll returns the ids of objects by their names or ids.
func (c *client) findAll(ctx context.Context, noun string, names []string) ([]string, error) {
	ids := make([]string, len(names))
	for i, name := range names {
		var err error
		if ids[i], err = c.find(ctx, noun, name); err != nil {
			return nil, err
		}
	}
	return ids, nil
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
	Var       string          `json:"var"`
	Type      string          `json:"type"`
	Label     string          `json:"label"`
	Help      string          `json:"help"`
	Required  bool            `json:"required"`
	Default   json.RawMessage `json:"default"`
	Choices   []string        `json:"choices"`
	Min       *int64          `json:"min"`
	Max       *int64          `json:"max"`
	MinLength *int64          `json:"min_length"`
	MaxLength *int64          `json:"max_length"`
	Pattern   string          `json:"pattern"`
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
