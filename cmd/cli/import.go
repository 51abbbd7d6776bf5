package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/ports/importer"
)

const importExample = `  writ import awx export.json --report report.html
  writ import rundeck jobs.yaml --inventory web --apply
  crontab -l | writ import cron - --user deploy`

type importFlags struct {
	readFlags
	inventory, report string
	apply, check      bool
	parts             bool
}

func importCommand(w environment) *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use: "import FORMAT FILE...", Short: "Import the export of another product, or crontabs", Example: importExample,
		Args: args(cobra.MinimumNArgs(2)),
		Long: `Show what each object of an export becomes, what differs and what has no place, or write it with --apply.
FORMAT is awx, semaphore, puppet, chef, rundeck, jenkins or cron. FILE - is the standard input.

The server plans and writes an import in one transaction. Crontabs, and exports over 25 MiB or 10,000 objects, are planned
on this machine and applied object by object, as by 'writ apply': an import that stops is completed by doing it again. No
secret is imported. Importing an export again changes nothing.

Exit codes: 0 done, 1 failed, 2 usage, 3 with --check: something would change.`,
	}
	fs := c.Flags()
	fs.BoolVar(&f.apply, "apply", false, "write the plan")
	fs.BoolVar(&f.parts, "parts", false, "plan on this machine and write object by object, as for larger exports")
	fs.BoolVar(&f.check, "check", false, "exit with 3 if something would change")
	fs.StringVar(&f.inventory, "inventory", "",
		"`name` or id of the inventory on which the jobs run; for rundeck and jenkins")
	fs.StringVar(&f.report, "report", "", "write the plan to a `file`: .html or .json")
	f.register(c)
	c.MarkFlagsMutuallyExclusive("apply", "check")
	w.conn = &connection{}
	completeFlags(w, c, map[string]string{"inventory": "inventory"})
	return clientCommand(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		return f.run(ctx, c, a[0], a[1:], out)
	})
}

func (f *importFlags) run(ctx context.Context, c *client, format string, files []string, out printer) error {
	if ext := filepath.Ext(f.report); f.report != "" && ext != ".html" && ext != ".json" {
		return usagef("--report %q: expected the ending .html or .json", oneLine(f.report, 200))
	}
	exports, err := f.read(out.environment, format, files)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	var plan importer.Body
	var refused error
	local := f.parts || format == crontabs || len(exports[0].Body) > importer.MaxBody
	if !local {
		plan, err = f.remote(ctx, c, format, exports[0])
		var api *apiError
		if errors.As(err, &api) && api.Status == http.StatusServiceUnavailable {
			return fmt.Errorf("%w\nIf the export is too large for one transaction, --parts writes it object by object", err)
		}
		local = api != nil && api.Status == http.StatusRequestEntityTooLarge // too many objects
	}
	if local {
		plan, refused, err = f.local(ctx, c, format, exports, out)
	}
	if err != nil {
		return err
	}
	if err := f.show(plan, out); err != nil {
		return err
	}
	if f.check && plan.Counts.Create+plan.Counts.Update > 0 {
		return exitCode(exitDiffers)
	}
	return refused
}

// remote lets the server plan and write an import.
func (f *importFlags) remote(ctx context.Context, c *client, format string, e importer.Export) (importer.Body, error) {
	query := url.Values{}
	for name, value := range map[string]string{"inventory": f.inventory, "file": e.File} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.apply {
		query.Set("apply", "true")
	}
	with := *c
	with.header = http.Header{"Content-Type": {"application/octet-stream"}}
	var plan importer.Body
	resp, err := with.send(ctx, http.MethodPost, "/v1/import/"+url.PathEscape(format)+"?"+query.Encode(), e.Body)
	if err != nil {
		return plan, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return plan, readProblem(resp)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxExport)).Decode(&plan); err != nil {
		return plan, fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
	}
	return plan, nil
}

// show prints a plan and writes the report.
func (f *importFlags) show(plan importer.Body, out printer) error {
	if f.report != "" {
		var b bytes.Buffer
		var err error
		if filepath.Ext(f.report) == ".json" {
			err = printJSON(&b, plan)
		} else {
			err = importer.WriteReport(&b, plan)
		}
		if err == nil {
			err = os.WriteFile(f.report, b.Bytes(), 0o600)
		}
		if err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if out.json {
		return out.document(plan)
	}
	printImport(newScreen(out.environment), plan)
	return nil
}
