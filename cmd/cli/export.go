package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

const exportExample = `  writ export catalog
  writ export catalog --kind Template,Schedule --org retail --force`

type exportFlags struct {
	kinds []string
	org   string
	force bool
	left  []string // what the caller may not read
}

func exportCommand(w environment) *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use: "export DIR", Short: "Export the catalog to files for apply", Example: exportExample,
		Args: args(cobra.ExactArgs(1)),
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.kinds, "kind", nil, "only these kinds: "+strings.Join(manifest.Names(), ", "))
	fs.StringVar(&f.org, "org", "", "only objects of this organization")
	fs.BoolVar(&f.force, "force", false,
		"write into a directory that is not empty; only files of the same objects are replaced")
	w.conn = &connection{}
	completeFlags(w, c, map[string]string{"org": "org"})
	return clientCommand(w, c, func(ctx context.Context, c *client, a []string, out printer) error {
		return f.run(ctx, c, a[0], out)
	})
}

func (f *exportFlags) run(ctx context.Context, c *client, dir string, to printer) error {
	kinds := manifest.Names()
	if len(f.kinds) > 0 {
		kinds = nil
		for _, name := range f.kinds {
			k, ok := manifest.KindOf(name)
			if !ok {
				return usagef("--kind: expected one of %s", strings.Join(manifest.Names(), ", "))
			}
			kinds = append(kinds, k.Name)
		}
	}
	out, err := openExport(dir, f.force)
	if err != nil {
		return err
	}
	defer func() { _ = out.close() }()
	h, err := readServerObjects(ctx, c, withFilled(kinds))
	if err != nil {
		return err
	}
	if err := h.mayList(kinds); err != nil {
		if len(f.kinds) > 0 {
			return err
		}
		for line := range strings.Lines(err.Error()) {
			f.left = append(f.left, strings.TrimSpace(line))
		}
	}
	if f.org != "" {
		id, ok := h.orgID(f.org)
		if !ok {
			return fmt.Errorf("there is no organization %q", f.org)
		}
		f.org = h.org(id)
	}
	written, err := f.write(ctx, h, kinds, out)
	if err != nil {
		return err
	}
	for _, what := range f.left {
		_, _ = fmt.Fprintf(to.err, "writ: left out: %s\n", plainText(what))
	}
	return to.print(map[string]any{"files": written, "count": len(written)}, "%s written to %s",
		count(len(written), "file"), plainText(dir))
}

// withFilled adds the sources to inventories: a list of inventories does not show which ones a source fills.
func withFilled(kinds []string) []string {
	if slices.Contains(kinds, manifest.Inventory) && !slices.Contains(kinds, manifest.Source) {
		return append(slices.Clone(kinds), manifest.Source)
	}
	return kinds
}

// write writes every object of the kinds and returns the files that it wrote.
func (f *exportFlags) write(ctx context.Context, h *serverObjects, kinds []string, out *exportDir) ([]string, error) {
	x := h.index(func(manifest.Key) bool { return true })
	filled := filledInventories(h)
	written := []string{}
	for _, kind := range manifest.Kinds() {
		if !slices.Contains(kinds, kind.Name) {
			continue
		}
		var list []*stored
		for k, o := range h.objects {
			if k.Kind == kind.Name && f.wants(h, o) {
				list = append(list, o)
			}
		}
		slices.SortFunc(list, func(a, b *stored) int { return strings.Compare(a.Name+"\x00"+a.Org, b.Name+"\x00"+b.Org) })
		folder, err := out.folder(kind)
		if err != nil {
			return written, err
		}
		for _, o := range list {
			d, err := document(ctx, h, o, filled[o.id])
			if err != nil {
				return written, err
			}
			if o.closed && kind.Name != manifest.Grant {
				f.left = append(f.left, fmt.Sprintf("this caller may not list the members of %s", o.Key))
			}
			names, err := folder.put(d, x)
			written = append(written, names...)
			if err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// wants reports whether an object is one to export. A queue without a limit is nothing.
func (f *exportFlags) wants(h *serverObjects, o *stored) bool {
	if o.Kind == manifest.Queue && len(h.spec(o)) == 0 {
		return false
	}
	return f.org == "" || o.Org == f.org || o.Kind == manifest.Org && o.Name == f.org
}

// document makes the document of an object.
func document(ctx context.Context, h *serverObjects, o *stored, filled bool) (*manifest.Document, error) {
	if err := h.members(ctx, o); err != nil {
		return nil, err
	}
	if o.Kind == manifest.Inventory {
		if err := h.whole(ctx, o); err != nil {
			return nil, err
		}
	}
	d := &manifest.Document{Key: o.Key, Spec: h.spec(o)}
	if o.Kind == manifest.Inventory {
		if content, _ := d.Spec["content"].(string); filled || content == "" {
			delete(d.Spec, "content")
			delete(d.Spec, "format")
		}
		if d.Spec["format"] == "ini" {
			delete(d.Spec, "format")
		}
	}
	return d, nil
}

// filledInventories are the ids of inventories that a source fills.
func filledInventories(h *serverObjects) map[string]bool {
	out := make(map[string]bool)
	for k, o := range h.objects {
		if k.Kind == manifest.Source {
			out[stringField(o.row, "inventory_id")] = true
		}
	}
	return out
}
