package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

const pipelineExample = `  writ pipeline submit release.yaml -f
  writ pipeline submit release.yaml --set 'extra_vars:={"release": "1.5"}' --set dry_run:=true`

const pipelineLong = `Submits the pipeline of a YAML file, - for standard input, and follows it with the output of its steps on a
terminal. The file has the members of POST /v1/pipelines. Members such as template_id, inventory_id and
credential_ids take names or ids:

  name: release
  inventory_id: production
  steps:
    - {name: build, tool: bash, command: make}
    - {name: deploy, template_id: deploy, answers: {release: "1.5"}, depends_on: [build]}`

func pipelineCommand(w environment) *cobra.Command {
	return group("pipeline", "Submit steps as one pipeline", pipelineSubmitCommand(w))
}

// pipelineFlags are those of a pipeline's submission.
type pipelineFlags struct {
	following

	key    string
	set    []string
	dryRun bool
}

func pipelineSubmitCommand(w environment) *cobra.Command {
	var f pipelineFlags
	c := &cobra.Command{
		Use: "submit FILE", Short: "Submit the pipeline of a file and follow it", Args: args(cobra.ExactArgs(1)),
		Long: pipelineLong, Example: pipelineExample,
	}
	c.Flags().StringArrayVar(&f.set, "set", nil,
		"k=v or k:=JSON, a member of the pipeline instead of the file's (repeatable)")
	c.Flags().BoolVarP(&f.dryRun, "dry-run", "n", false, "change nothing")
	c.Flags().StringVar(&f.key, "idempotency-key", "", keyHelp)
	f.following.register(c)
	return clientCommand(w, c, func(ctx context.Context, cl *client, a []string, out printer) error {
		f.unlessSet(c, out)
		body, err := pipelineFile(out.environment, a[0])
		if err != nil {
			return err
		}
		set, err := typedPairs("set", f.set)
		if err != nil {
			return err
		}
		for k, v := range set {
			body[k] = v
		}
		if f.dryRun {
			body["dry_run"] = true
		}
		if err := cl.named(ctx, body, map[string]string{}); err != nil {
			return err
		}
		return f.send(ctx, cl, "/v1/pipelines", f.key, body, out)
	})
}

// pipelineFile reads the object of a YAML file.
func pipelineFile(w environment, name string) (map[string]any, error) {
	raw, err := w.input(name)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := yaml.Unmarshal(raw, &body); err != nil {
		return nil, usagef("%s: %s", oneLine(name, 200), oneLine(err.Error(), 400))
	}
	if len(body) == 0 {
		return nil, usagef("%s has no pipeline: it needs the member steps", oneLine(name, 200))
	}
	return body, nil
}

// named replaces the names in members of a pipeline and of its steps by ids. known has the ids of names that were
// looked up.
func (c *client) named(ctx context.Context, body map[string]any, known map[string]string) error {
	id := func(noun, name string) (string, error) {
		if id, ok := known[noun+"/"+name]; ok {
			return id, nil
		}
		id, err := c.find(ctx, noun, name)
		known[noun+"/"+name] = id
		return id, err
	}
	var err error
	for member, noun := range map[string]string{"template_id": "template", "inventory_id": "inventory",
		"project_id": "project"} {
		if name, ok := body[member].(string); ok && name != "" {
			if body[member], err = id(noun, name); err != nil {
				return fmt.Errorf("%s: %w", member, err)
			}
		}
	}
	if list, ok := body["credential_ids"].([]any); ok {
		for i, v := range list {
			if name, ok := v.(string); ok && name != "" {
				if list[i], err = id("credential", name); err != nil {
					return fmt.Errorf("credential_ids: %w", err)
				}
			}
		}
	}
	steps, _ := body["steps"].([]any)
	for i, v := range steps {
		step, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if err := c.named(ctx, step, known); err != nil {
			return fmt.Errorf("steps[%d].%w", i, err)
		}
	}
	return nil
}
