package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/policy"
)

// rules are the kinds of objects that apply manages by name: policies and windows. The plural is a member of lists and
// files, and the end of the path.
type rules struct{ noun, plural string }

func policyRules() rules { return rules{"policy", "policies"} }

func windowRules() rules { return rules{"window", "windows"} }

func (k rules) path(id string) string {
	if id == "" {
		return "/v1/" + k.plural
	}
	return "/v1/" + k.plural + "/" + url.PathEscape(id)
}

func policyCommand(w environment) *cobra.Command {
	return group("policy", "List, show, write, try and delete policies", policyRules().applyCommand(w),
		policySimulateCommand(w))
}

func windowCommand(w environment) *cobra.Command {
	return group("window", "List, show, write and delete windows", windowRules().applyCommand(w))
}

// find reads the objects by name, all of them if name is empty.
func (k rules) find(ctx context.Context, c *client, name string) ([]map[string]any, error) {
	query := url.Values{}
	if name != "" {
		query.Set("name", name)
	}
	return c.rows(ctx, k.path(""), k.plural, query)
}

// settable removes the members that only the server sets.
func settable(p map[string]any) map[string]any {
	for _, member := range []string{"id", "created_at", "created_by", "updated_at"} {
		delete(p, member)
	}
	return p
}

// read reads a file; - is the standard input. The server checks what is in it.
func (k rules) read(w environment, name string) ([]map[string]any, error) {
	in := w.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, policy.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > policy.MaxFile {
		return nil, fmt.Errorf("%s: has more than %d bytes", name, policy.MaxFile)
	}
	var one map[string]any
	if err := yaml.Unmarshal(text, &one); err == nil && stringField(one, "name") != "" {
		return []map[string]any{settable(one)}, nil // what show -o yaml prints
	}
	var doc map[string][]map[string]any
	if err := yaml.NewDecoder(strings.NewReader(string(text))).Decode(&doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	list := doc[k.plural]
	if delete(doc, k.plural); len(doc) > 0 {
		return nil, fmt.Errorf("%s: expected %s alone", name, k.plural)
	}
	return list, nil
}

func (k rules) applyCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use:   "apply FILE",
		Short: "Create or replace the " + k.plural + " of a " + k.noun + " file, by name", Args: args(cobra.ExactArgs(1)),
		Long: "Create or replace the " + k.plural + " of a " + k.noun + " file, by name. Others stay as they are.\n" +
			"- is the standard input.",
	}, func(ctx context.Context, c *client, a []string, out printer) error {
		list, err := k.read(w, a[0])
		if err != nil {
			return err
		}
		names, bodies := make([]string, len(list)), map[string]map[string]any{}
		for i, p := range list {
			names[i] = stringField(p, "name")
			bodies[names[i]] = p
		}
		if len(bodies) < len(list) || bodies[""] != nil {
			return fmt.Errorf("%s: each %s needs a name of its own", a[0], k.noun)
		}
		return eachID(out, names, "applied", func(name string) error { return k.apply(ctx, c, name, bodies[name]) })
	})
}

func (k rules) apply(ctx context.Context, c *client, name string, body map[string]any) error {
	rows, err := k.find(ctx, c, name)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return c.call(ctx, http.MethodPost, k.path(""), body, nil)
	}
	return c.call(ctx, http.MethodPut, k.path(stringField(rows[0], "id")), body, nil)
}
