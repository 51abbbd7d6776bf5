package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/policy"
)

// rules are the kinds of objects that list, show, apply and delete manage by name: policies and windows.
type rules struct {
	noun, plural string // the plural is a member of lists and files, and the end of the path
	prefix       ids.Prefix
	columns      []string // of a list, beside the name and whether it is enabled
}

func policyRules() rules {
	return rules{"policy", "policies", ids.Policy, []string{"effect", "message"}}
}

func windowRules() rules {
	return rules{"window", "windows", ids.Window, []string{"mode", "outside", "cron", "from", "to", "timezone"}}
}

func (k rules) path(id string) string {
	if id == "" {
		return "/v1/" + k.plural
	}
	return "/v1/" + k.plural + "/" + url.PathEscape(id)
}

func (k rules) commands(w environment) []*cobra.Command {
	return []*cobra.Command{k.listCommand(w), k.showCommand(w), k.applyCommand(w), k.deleteCommand(w)}
}

func policyCommand(w environment) *cobra.Command {
	return group("policy", "List, show, write, try and delete policies",
		append(policyRules().commands(w), policySimulateCommand(w))...)
}

func windowCommand(w environment) *cobra.Command {
	return group("window", "List, show, write and delete windows", windowRules().commands(w)...)
}

// find reads the objects by name, all of them if name is empty.
func (k rules) find(ctx context.Context, c *client, name string) ([]map[string]any, error) {
	query := url.Values{}
	if name != "" {
		query.Set("name", name)
	}
	return c.rows(ctx, k.path(""), k.plural, query)
}

// one reads an object by its name or id.
func (k rules) one(ctx context.Context, c *client, name string) (map[string]any, error) {
	if ids.Valid(k.prefix, name) {
		row, _, err := c.exchange(ctx, http.MethodGet, k.path(name), "", nil)
		return row, err
	}
	rows, err := k.find(ctx, c, name)
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("there is no %s %q", k.noun, name)
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

func (k rules) listCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "list", Short: "List " + k.plural + " by name", Args: args(cobra.NoArgs),
	}, func(ctx context.Context, c *client, _ []string, out printer) error {
		list, err := k.find(ctx, c, "")
		switch {
		case err != nil:
			return err
		case out.json:
			return out.document(map[string]any{k.plural: append([]map[string]any{}, list...), "count": len(list)})
		case len(list) == 0:
			_, _ = fmt.Fprintln(w.err, "writ: no "+k.plural)
			return nil
		}
		rows := make([][]field, 0, len(list))
		for _, p := range list {
			state := "disabled"
			if p["enabled"] == true {
				state = "enabled"
			}
			row := []field{{text: oneLine(stringField(p, "name"), 60)}, {text: state}}
			for _, column := range k.columns {
				row = append(row, field{text: oneLine(stringField(p, column), 60)})
			}
			rows = append(rows, row)
		}
		newScreen(w).table(strings.Split(strings.ToUpper("name,state,"+strings.Join(k.columns, ",")), ","), rows)
		return nil
	})
}

// settable removes the members that only the server sets.
func settable(p map[string]any) map[string]any {
	for _, member := range []string{"id", "created_at", "created_by", "updated_at"} {
		delete(p, member)
	}
	return p
}

func (k rules) showCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "show " + strings.ToUpper(k.noun) + "...", Short: "Print " + k.plural + " in the form of a " + k.noun + " file",
		Args: args(cobra.MinimumNArgs(1)),
	}, func(ctx context.Context, c *client, names []string, out printer) error {
		list := make([]any, 0, len(names))
		for _, name := range names {
			p, err := k.one(ctx, c, name)
			if err != nil {
				return err
			}
			if !out.json {
				p = settable(p)
			}
			list = append(list, p)
		}
		doc := map[string]any{k.plural: list}
		if out.json {
			return out.document(doc)
		}
		text, err := json.Marshal(doc) // YAML has no numbers of the form in which the answer keeps them
		if err != nil {
			return err
		}
		var plain any
		if err := yaml.Unmarshal(text, &plain); err != nil {
			return err
		}
		e := yaml.NewEncoder(w.out)
		e.SetIndent(2)
		return errors.Join(e.Encode(plain), e.Close())
	})
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

func (k rules) deleteCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "delete " + strings.ToUpper(k.noun) + "...", Short: "Delete " + k.plural, Args: args(cobra.MinimumNArgs(1)),
	}, func(ctx context.Context, c *client, names []string, out printer) error {
		return eachID(out, names, "deleted", func(name string) error {
			p, err := k.one(ctx, c, name)
			if err != nil {
				return err
			}
			return c.call(ctx, http.MethodDelete, k.path(stringField(p, "id")), nil, nil)
		})
	})
}
