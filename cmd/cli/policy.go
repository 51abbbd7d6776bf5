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

const policiesPath = "/v1/policies"

func policyCommand(w environment) *cobra.Command {
	return group("policy", "List, show, write, try and delete policies", policyListCommand(w), policyShowCommand(w),
		policyApplyCommand(w), policyDeleteCommand(w), policySimulateCommand(w))
}

// policies reads the policies by name, all of them if name is empty.
func (c *client) policies(ctx context.Context, name string) ([]map[string]any, error) {
	query := url.Values{}
	if name != "" {
		query.Set("name", name)
	}
	return c.rows(ctx, policiesPath, "policies", query)
}

// policy reads a policy by its name or id.
func (c *client) policy(ctx context.Context, name string) (map[string]any, error) {
	if ids.Valid(ids.Policy, name) {
		row, _, err := c.exchange(ctx, http.MethodGet, policiesPath+"/"+name, "", nil)
		return row, err
	}
	rows, err := c.policies(ctx, name)
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("there is no policy %q", name)
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

func policyListCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "list", Short: "List policies by name", Args: args(cobra.NoArgs),
	}, func(ctx context.Context, c *client, _ []string, out printer) error {
		list, err := c.policies(ctx, "")
		switch {
		case err != nil:
			return err
		case out.json:
			return printJSON(w.out, map[string]any{"policies": append([]map[string]any{}, list...), "count": len(list)})
		case len(list) == 0:
			_, _ = fmt.Fprintln(w.err, "writ: no policies")
			return nil
		}
		rows := make([][]field, 0, len(list))
		for _, p := range list {
			state := "disabled"
			if p["enabled"] == true {
				state = "enabled"
			}
			rows = append(rows, []field{{text: oneLine(stringField(p, "name"), 60)},
				{text: oneLine(stringField(p, "effect"), 20)}, {text: state}, {text: oneLine(stringField(p, "message"), 60)}})
		}
		newScreen(w).table([]string{"NAME", "EFFECT", "STATE", "MESSAGE"}, rows)
		return nil
	})
}

// settable removes the members of a policy that only the server sets.
func settable(p map[string]any) map[string]any {
	for _, member := range []string{"id", "created_at", "created_by", "updated_at"} {
		delete(p, member)
	}
	return p
}

func policyShowCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "show POLICY...", Short: "Print policies in the form of a policy file", Args: args(cobra.MinimumNArgs(1)),
	}, func(ctx context.Context, c *client, names []string, out printer) error {
		list := make([]any, 0, len(names))
		for _, name := range names {
			p, err := c.policy(ctx, name)
			if err != nil {
				return err
			}
			if !out.json {
				p = settable(p)
			}
			list = append(list, p)
		}
		doc := map[string]any{"policies": list}
		if out.json {
			return printJSON(w.out, doc)
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

// readPolicies reads a policy file; - is the standard input. The server checks its policies.
func readPolicies(w environment, name string) ([]map[string]any, error) {
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
	var doc struct {
		Policies []map[string]any `yaml:"policies"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return doc.Policies, nil
}

func policyApplyCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "apply FILE", Short: "Create or replace the policies of a policy file, by name", Args: args(cobra.ExactArgs(1)),
		Long: "Create or replace the policies of a policy file, by name. Others stay as they are. - is the standard\n" +
			"input.",
	}, func(ctx context.Context, c *client, a []string, out printer) error {
		list, err := readPolicies(w, a[0])
		if err != nil {
			return err
		}
		names, bodies := make([]string, len(list)), map[string]map[string]any{}
		for i, p := range list {
			names[i] = stringField(p, "name")
			bodies[names[i]] = p
		}
		if len(bodies) < len(list) || bodies[""] != nil {
			return fmt.Errorf("%s: each policy needs a name of its own", a[0])
		}
		return eachID(out, names, "applied", func(name string) error { return c.applyPolicy(ctx, name, bodies[name]) })
	})
}

func (c *client) applyPolicy(ctx context.Context, name string, body map[string]any) error {
	rows, err := c.policies(ctx, name)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return c.call(ctx, http.MethodPost, policiesPath, body, nil)
	}
	return c.call(ctx, http.MethodPut, policiesPath+"/"+url.PathEscape(stringField(rows[0], "id")), body, nil)
}

func policyDeleteCommand(w environment) *cobra.Command {
	return clientCommand(w, &cobra.Command{
		Use: "delete POLICY...", Short: "Delete policies", Args: args(cobra.MinimumNArgs(1)),
	}, func(ctx context.Context, c *client, names []string, out printer) error {
		return eachID(out, names, "deleted", func(name string) error {
			p, err := c.policy(ctx, name)
			if err != nil {
				return err
			}
			return c.call(ctx, http.MethodDelete, policiesPath+"/"+url.PathEscape(stringField(p, "id")), nil, nil)
		})
	})
}
