package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

const applyExample = `  writ apply catalog --plan
  writ apply catalog
  writ apply catalog --prune --yes`

// exitDiffers means that apply --check found differences.
const exitDiffers = 3

type applyFlags struct {
	files, kinds, secrets []string
	org                   string
	plan, check           bool
	prune, yes            bool
}

func applyCommand(w environment) *cobra.Command {
	var f applyFlags
	c := &cobra.Command{
		Use: "apply PATH...", Short: "Apply catalog files to the server", Example: applyExample,
		Args: args(cobra.MinimumNArgs(1)),
		Long: "Applies documents of the catalog: files, or directories of files.\n" +
			"No file contains a secret: a credential has a source, or gets its secret with --secret when it has none yet. " +
			"A stored secret stays.\n" +
			"Exit codes: 0 done, 1 failed, 2 usage, 3 with --check: something would change.",
	}
	fs := c.Flags()
	fs.StringVar(&f.org, "org", "", "organization of documents without one")
	fs.BoolVar(&f.plan, "plan", false, "show what would change, and change nothing")
	fs.BoolVar(&f.check, "check", false, "like --plan, and exit with 3 if something would change")
	fs.BoolVar(&f.prune, "prune", false, "delete objects that the files do not name, of the same kinds and organizations")
	fs.StringSliceVar(&f.kinds, "kind", nil,
		"with --prune: delete objects of these kinds instead of the kinds in the files")
	fs.StringArrayVar(&f.secrets, "secret", nil,
		"secret of a new credential: CREDENTIAL.MEMBER=@FILE or CREDENTIAL.MEMBER=env:VARIABLE; repeatable")
	fs.BoolVarP(&f.yes, "yes", "y", false, "delete without asking")
	w.conn = &connection{}
	completeFlags(w, c, map[string]string{"org": "org"})
	return clientCommand(w, c, func(ctx context.Context, c *client, paths []string, out printer) error {
		f.files = paths
		return f.run(ctx, c, out)
	})
}

func (f *applyFlags) run(ctx context.Context, c *client, out printer) error {
	w := out.environment
	if err := f.consistent(w); err != nil {
		return err
	}
	given, err := readSecrets(w, f.secrets)
	if err != nil {
		return err
	}
	docs, err := f.read()
	if err != nil {
		return err
	}
	kinds, prune := f.scope(docs)
	h, err := readServerObjects(ctx, c, kinds)
	if err != nil {
		return err
	}
	if err := h.mayList(kinds); err != nil {
		return err
	}
	if prune != nil && f.org != "" {
		prune.orgs = append(prune.orgs, f.org)
	}
	p, err := makePlan(ctx, h, docs, given, prune)
	if err != nil {
		return err
	}
	for _, k := range p.keep {
		_, _ = fmt.Fprintf(w.err, "writ: %s keeps its stored secret\n", plainText(k.String()))
	}
	s := newScreen(w)
	dry := f.plan || f.check
	if !out.json {
		printPlan(s, p)
	}
	if !dry {
		if n := p.count(actDelete); n > 0 && !f.yes && !confirm(bufio.NewReader(w.in), w.err, "Delete "+count(n, "object")) {
			return errUnchanged
		}
		err = p.apply(ctx, w, s, out.json)
	}
	if out.json {
		err = errors.Join(out.document(planOf(p, !dry, err)), err)
	}
	if err == nil && f.check && p.changes() {
		return exitCode(exitDiffers)
	}
	return err
}

// consistent refuses contradictory flags before the first request.
func (f *applyFlags) consistent(w environment) error {
	for i, name := range f.kinds {
		k, ok := manifest.KindOf(name)
		if !ok {
			return usagef("--kind: expected one of %s", strings.Join(manifest.Names(), ", "))
		}
		f.kinds[i] = k.Name
	}
	switch {
	case len(f.kinds) > 0 && !f.prune:
		return usagef("--kind needs --prune")
	case f.prune && !f.yes && !f.plan && !f.check && !interactive(w.in):
		return usagef("--prune deletes objects: without a terminal, add --yes, or --plan to see them first")
	}
	return nil
}

// interactive reports whether an input or output of the command is a terminal.
func interactive(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // file descriptors are small
}

func (f *applyFlags) read() ([]*manifest.Document, error) {
	var docs []*manifest.Document
	var errs []error
	for _, name := range f.files {
		more, err := manifest.Read(name)
		errs = append(errs, err)
		docs = append(docs, more...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, d := range docs {
		if k, _ := manifest.KindOf(d.Kind); k.Scoped && d.Org == "" {
			d.Org = f.org
		}
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("no documents in %s", strings.Join(f.files, ", "))
	}
	return docs, nil
}

// scope returns the kinds that matter and the scope of --prune.
func (f *applyFlags) scope(docs []*manifest.Document) (kinds []string, prune *scope) {
	for _, d := range docs {
		if !slices.Contains(kinds, d.Kind) {
			kinds = append(kinds, d.Kind)
		}
	}
	if !f.prune {
		return kinds, nil
	}
	prune = &scope{kinds: kinds}
	if len(f.kinds) > 0 {
		prune.kinds = f.kinds
		kinds = append(slices.Clone(kinds), f.kinds...)
	}
	return kinds, prune
}

// errUnchanged ends a command whose question was not answered by yes.
var errUnchanged = errors.New("nothing was changed")

// confirm asks for confirmation before something is destroyed.
func confirm(in *bufio.Reader, out io.Writer, what string) bool {
	_, _ = fmt.Fprintf(out, "%s? [y/N] ", plainText(what))
	line, err := in.ReadString('\n')
	if err != nil {
		_, _ = fmt.Fprintln(out)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// apply does the steps and stops at the first that fails.
func (p *plan) apply(ctx context.Context, w environment, s screen, quiet bool) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	for i, x := range p.steps {
		if x.action == actUnchanged {
			continue
		}
		if err := p.perform(ctx, x); err != nil {
			p.stopped(w.err, i)
			return err
		}
		x.done = true
		if !quiet {
			x.printDone(s)
		}
	}
	return nil
}

// maxLeft bounds how many steps are named that were not done.
const maxLeft = 20

// stopped reports on standard error how far an apply came.
func (p *plan) stopped(out io.Writer, at int) {
	done := 0
	var left []*planStep
	for i, x := range p.steps {
		switch {
		case x.done:
			done++
		case i >= at && x.action != actUnchanged:
			left = append(left, x)
		}
	}
	_, _ = fmt.Fprintf(out, "writ: stopped: %d done, %d not done\n", done, len(left))
	for _, x := range left[:min(len(left), maxLeft)] {
		_, _ = fmt.Fprintf(out, "  not done: %s %s\n", x.action, oneLine(x.key.String(), 200))
	}
	if more := len(left) - maxLeft; more > 0 {
		_, _ = fmt.Fprintf(out, "  and %d more\n", more)
	}
}
