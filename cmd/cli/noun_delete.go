package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// confirmFlag is --yes of commands that destroy something.
type confirmFlag struct{ yes bool }

func (f *confirmFlag) register(c *cobra.Command) {
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask; without a terminal this is needed")
}

// ask asks before something is destroyed. It fails unless the answer is yes.
func (f *confirmFlag) ask(out printer, what string) error {
	if f.yes {
		return nil
	}
	if !interactive(out.in) {
		return usagef("%s: nobody can be asked without a terminal: give --yes", plainText(what))
	}
	if !confirm(bufio.NewReader(io.LimitReader(out.in, 100)), out.err, strings.ToUpper(what[:1])+what[1:]) {
		return errUnchanged
	}
	return nil
}

func (n *noun) deleteCommand(w environment, o operation) *cobra.Command {
	var confirm confirmFlag
	c := n.verbCommand(o, "...")
	confirm.register(c)
	did := "deleted"
	if strings.HasPrefix(o.ID, "revoke-") {
		did = "revoked"
	}
	return n.completed(w, o, c, func(ctx context.Context, cl *client, names []string, out printer) error {
		what := strings.TrimSuffix(did, "d") + " " + n.words() + " " + strings.Join(names, ", ")
		if err := confirm.ask(out, what); err != nil {
			return err
		}
		return eachID(out, names, did, func(name string) error {
			path, err := n.path(ctx, cl, o, []string{name})
			if err != nil {
				return err
			}
			return cl.call(ctx, http.MethodDelete, path, nil, nil)
		})
	})
}
