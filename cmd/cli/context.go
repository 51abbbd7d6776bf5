package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"
)

// contextView is a context as --json shows it.
type contextView struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	savedContext
}

func contextCommand(w environment) *cobra.Command {
	c := group("context", "List, choose and delete the servers that you signed in to", contextListCommand(w),
		contextShowCommand(w), contextUseCommand(w), contextDeleteCommand(w))
	c.Long = `Contexts are servers with how to reach them: the address, the authorities to trust, and the token. 'writ login'
makes them. A command takes each value from the first that has it: a flag, the environment, the context, the default.

  --server, --token, --ca-file         for this command
  --context NAME                       for this command; WRIT_SERVER and WRIT_TOKEN do not count then
  WRIT_SERVER, WRIT_TOKEN, WRIT_CA_FILE, WRIT_CONTEXT
  the current context                  of 'writ login' or 'writ context use'

A token is sent to the server of its context only.`
	c.Example = "  writ context list\n  writ context use prod\n  writ runs --context staging"
	return c
}

// current returns the context of WRIT_CONTEXT, else the one that is stored as current.
func (f contextsFile) current(w environment) string { return cmp.Or(w.env("WRIT_CONTEXT"), f.Current) }

func (f contextsFile) view(w environment, name string) contextView {
	c := f.Contexts[name]
	return contextView{Name: name, Current: name == f.current(w), savedContext: c}
}

func contextListCommand(w environment) *cobra.Command {
	return printCommand(w, &cobra.Command{Use: "list", Short: "List contexts", Args: args(cobra.NoArgs)},
		func(_ context.Context, _ []string, out printer) error {
			f, err := openContexts(w).read()
			if err != nil {
				return err
			}
			views, rows := []contextView{}, [][]field{}
			for _, name := range slices.Sorted(maps.Keys(f.Contexts)) {
				v := f.view(w, name)
				mark := ""
				if v.Current {
					mark = "*"
				}
				views = append(views, v)
				rows = append(rows, []field{{text: mark}, {text: name}, {text: oneLine(v.Server, 80)},
					{text: oneLine(v.Username, 64)}, {text: cmp.Or(v.Method, "-")}, {text: cmp.Or(v.Token, "none")}})
			}
			if out.json {
				return out.document(map[string]any{"contexts": views, "count": len(views)})
			}
			newScreen(w).table([]string{"", "NAME", "SERVER", "USER", "SIGNED IN BY", "TOKEN"}, rows)
			return nil
		})
}

func contextShowCommand(w environment) *cobra.Command {
	return printCommand(w, &cobra.Command{
		Use: "show [CONTEXT]", Short: "Show a context, the current one by default", Args: args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeContexts(w),
	}, func(_ context.Context, a []string, out printer) error {
		f, err := openContexts(w).read()
		if err != nil {
			return err
		}
		name := f.current(w)
		if len(a) > 0 {
			name = a[0]
		}
		if name == "" {
			return errors.New("no context is current: sign in with 'writ login SERVER'")
		}
		c, err := f.named(name)
		if err != nil {
			return err
		}
		const lines = "context   %s\nserver    %s\nca file   %s\naccount   %s\nsigned in %s\ntoken     %s"
		return out.print(f.view(w, name), lines,
			name, plainText(c.Server), cmp.Or(plainText(c.CAFile), "-"), cmp.Or(plainText(c.Username), "-"),
			cmp.Or(plainText(c.Method), "-"), cmp.Or(plainText(c.Token), "none"))
	})
}

func contextUseCommand(w environment) *cobra.Command {
	return printCommand(w, &cobra.Command{
		Use: "use CONTEXT", Short: "Make a context the current one", Args: args(cobra.ExactArgs(1)),
		ValidArgsFunction: completeContexts(w),
	}, func(_ context.Context, a []string, out printer) error {
		var v contextView
		err := openContexts(w).change(func(f *contextsFile) error {
			_, err := f.named(a[0])
			f.Current, v = a[0], f.view(environment{}, a[0])
			v.Current = true
			return err
		})
		if err != nil {
			return err
		}
		return out.print(v, "the context %s is current", a[0])
	})
}

func contextDeleteCommand(w environment) *cobra.Command {
	var confirm confirmFlag
	c := &cobra.Command{
		Use: "delete CONTEXT", Short: "Delete a context with its token from this machine",
		Args: args(cobra.ExactArgs(1)), ValidArgsFunction: completeContexts(w),
		Long: "Delete a context with its token from this machine. 'writ logout' ends the session at the server first.",
	}
	confirm.register(c)
	return printCommand(w, c, func(ctx context.Context, a []string, out printer) error {
		s := openContexts(w)
		f, err := s.read()
		if err != nil {
			return err
		}
		if _, err := f.named(a[0]); err != nil {
			return err
		}
		if err := confirm.ask(out, "delete the context "+a[0]+" with its token"); err != nil {
			return err
		}
		err = s.change(func(f *contextsFile) error {
			c, err := f.named(a[0])
			if err != nil {
				return err
			}
			delete(f.Contexts, a[0])
			if f.Current == a[0] {
				f.Current = ""
			}
			return s.drop(ctx, a[0], c)
		})
		if err != nil {
			return err
		}
		return out.print(map[string]any{"name": a[0], "deleted": true}, "deleted %s", a[0])
	})
}

func logoutCommand(w environment) *cobra.Command {
	var f connection
	c := &cobra.Command{
		Use: "logout", Short: "End the session of a context and remove its token", Args: args(cobra.NoArgs),
		Long: `End the session at the server and remove its token from this machine. The context stays, for the next
'writ login'. A token that was given by --with-token is removed here and stays valid: revoke it with 'writ token revoke'.

If the server does not answer, the token is removed here and the exit code is 1.`,
	}
	f.registerContext(w, c)
	return printCommand(w, c, func(ctx context.Context, _ []string, out printer) error {
		return f.logout(ctx, out)
	})
}

func (f *connection) logout(ctx context.Context, out printer) error {
	s := openContexts(out.environment)
	stored, err := s.read()
	if err != nil {
		return err
	}
	name := cmp.Or(f.context, stored.current(out.environment))
	if name == "" {
		return errors.New("no context is current: nothing to sign out of")
	}
	saved, err := stored.named(name)
	if err != nil {
		return err
	}
	ended, remote := false, error(nil)
	if saved.Token != "" && saved.session() {
		remote = f.endSession(ctx, s, name, saved)
		ended = remote == nil
	}
	err = s.change(func(file *contextsFile) error {
		c, err := file.named(name)
		if err != nil {
			return err
		}
		drop := c
		c.Token, c.Method = "", ""
		file.Contexts[name] = c
		return s.drop(ctx, name, drop)
	})
	if err = errors.Join(err, remote); err != nil {
		return err
	}
	return out.print(map[string]any{"context": name, "server": saved.Server, "session_ended": ended},
		"signed out of %s; the context %s stays", plainText(saved.Server), name)
}

// endSession revokes the token of a context at its server. A token that is not valid any more is no error.
func (f *connection) endSession(ctx context.Context, s contextStore, name string, saved savedContext) error {
	token, err := s.token(ctx, name, saved)
	if err != nil {
		return err
	}
	c, err := endpoint{server: saved.Server, token: token, caFile: cmp.Or(f.caFile, saved.CAFile)}.client()
	if err != nil {
		return err
	}
	err = c.call(ctx, http.MethodPost, "/v1/auth/logout", nil, nil)
	var api *apiError
	if errors.As(err, &api) && api.Status == http.StatusUnauthorized {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the token was removed here, and the session was not ended: %w", err)
	}
	return nil
}
