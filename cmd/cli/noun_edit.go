package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// editCommand changes an object: by flags only what they name, without any in an editor.
func (n *noun) editCommand(w environment, o operation) *cobra.Command {
	var f bodyFlags
	c := n.verbCommand(o, "")
	c.Long += "\nFlags change the members that they name, and --file replaces all of them. Without a flag, $VISUAL or " +
		"$EDITOR\n(else vi) opens with the members. A list or map that a flag names is replaced. An empty " +
		"reference\nclears it."
	f.register(w, c, o.Body)
	f.derived = o.Answer
	return n.completed(w, o, c, func(ctx context.Context, cl *client, a []string, out printer) error {
		if !f.changed(c.Flags()) && !interactive(w.in) && cmp.Or(w.env("VISUAL"), w.env("EDITOR")) == "" {
			return usagef("nothing to change: give a flag, --set or --file\nSee '%s --help'", c.CommandPath())
		}
		body, tag, err := n.state(ctx, cl, o, a[0])
		if err != nil {
			return err
		}
		path, err := n.path(ctx, cl, o, a)
		if err != nil {
			return err
		}
		replace := func(body map[string]any) error {
			if err := cl.resolve(ctx, body, f.members); err != nil {
				return err
			}
			for k, v := range body {
				if _, isRef := refersTo(k); isRef && v == "" {
					delete(body, k)
				}
			}
			raw, _, err := cl.exchangeRaw(ctx, o.Method, path, tag, body)
			if err != nil {
				return err
			}
			return n.changed(out, raw)
		}
		if !f.changed(c.Flags()) {
			return n.inEditor(ctx, w, &f, a[0], body, out, replace)
		}
		if err := f.fill(w, c.Flags(), body); err != nil {
			return err
		}
		return replace(body)
	})
}

// state reads the members of an object that a caller sets, and its tag.
func (n *noun) state(ctx context.Context, c *client, edit operation, name string) (map[string]any, string, error) {
	path, err := n.path(ctx, c, edit, []string{name})
	if err != nil {
		return nil, "", err
	}
	row, tag, err := c.exchange(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, "", err
	}
	members := writable(edit.Body)
	maps.DeleteFunc(row, func(k string, _ any) bool { return !hasMember(members, k) })
	return row, tag, nil
}

func (n *noun) changed(out printer, raw []byte) error {
	if out.json {
		return printObject(out, raw)
	}
	v, err := decoded(raw)
	if answer, ok := v.(map[string]any); ok && err == nil {
		n.printLine(out, done("edit"), answer)
	}
	return err
}

// inEditor lets a user change the members in an editor. A text that is not taken is kept in a file.
func (n *noun) inEditor(
	ctx context.Context, w environment, f *bodyFlags, name string, body map[string]any, out printer,
	replace func(map[string]any) error,
) error {
	before, err := f.document(n.words()+" "+name, body)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "writ-edit-")
	if err != nil {
		return err
	}
	file := dir + "/" + n.use() + ".yaml"
	kept := false
	defer func() {
		if !kept {
			_ = os.RemoveAll(dir)
		}
	}()
	if err := os.WriteFile(file, before, 0o600); err != nil {
		return err
	}
	if err := openEditor(ctx, w, file); err != nil {
		return err
	}
	after, err := w.input(file)
	if err != nil {
		return err
	}
	if bytes.Equal(before, after) {
		return out.print(map[string]any{"changed": false}, "nothing changed")
	}
	now, err := f.parse(file, after)
	if err == nil && reflect.DeepEqual(now, body) {
		return out.print(map[string]any{"changed": false}, "nothing changed")
	}
	if err == nil {
		err = replace(now)
	}
	if err != nil {
		kept = true
		return fmt.Errorf("%w\nYour text is kept in %s; after a correction: writ %s edit %s --file %[2]s", err, file, n.name,
			plainText(name))
	}
	return nil
}

// document is the text that an editor opens: the members in the order of the API, with what they mean.
func (f *bodyFlags) document(what string, body map[string]any) ([]byte, error) {
	doc := &yaml.Node{Kind: yaml.MappingNode}
	doc.HeadComment = "The " + plainText(what) + ". An unchanged text changes nothing.\n" +
		"A member that is removed is cleared."
	var absent []string
	for _, m := range f.members {
		v, ok := body[m.Name]
		if !ok {
			absent = append(absent, m.Name)
			continue
		}
		raw, err := marshal(v, "")
		if err != nil {
			return nil, err
		}
		value, err := ordered(raw)
		if err != nil {
			return nil, err
		}
		plainStyle(value)
		comment := strings.Join(wrap(strings.ReplaceAll(usageOf(m), "`", ""), plainWide), "\n")
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: m.Name, HeadComment: comment}
		doc.Content = append(doc.Content, key, value)
	}
	if len(absent) > 0 {
		doc.FootComment = strings.Join(wrap("Members that are not set: "+strings.Join(absent, ", ")+".", plainWide), "\n")
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := errors.Join(e.Encode(doc), e.Close())
	return b.Bytes(), err
}

// openEditor runs the user's editor on a file.
func openEditor(ctx context.Context, w environment, file string) error {
	words := strings.Fields(cmp.Or(w.env("VISUAL"), w.env("EDITOR"), "vi"))
	if len(words) == 0 {
		words = []string{"vi"}
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file)...) //nolint:gosec // the user's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = w.in, w.out, w.err, w.environ
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %s: %w", words[0], err)
	}
	return nil
}
