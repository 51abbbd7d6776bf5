package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/secret"
)

// desktopAddr is the address of a first start: a free port, which later starts use again.
const desktopAddr = "127.0.0.1:0"

func desktopCommand(w environment) *cobra.Command {
	f := &serveFlags{}
	d := &desktop{w: w}
	c := &cobra.Command{
		Use: "desktop", Short: "Run a server for yourself and open it in the browser", Args: args(cobra.NoArgs),
		Long: "Run a server for yourself on this machine, with its data in your own directory, and open it in the\n" +
			"browser, signed in. While it runs, another start opens the running one. " + fromEverywhere,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.load(c.Flags(), w); err != nil {
				return err
			}
			if f.DataDir == "" {
				var err error
				if f.DataDir, err = ownData(w); err != nil {
					return err
				}
			}
			return d.run(c.Context(), f)
		},
	}
	some := only(f, "config", "data-dir", "work-dir", "executors", "drain-timeout", "log-level", "log-format")
	f.Addr = desktopAddr
	some.Lookup("data-dir").Usage = "`directory` of the data (default that of your account)"
	_ = some.Lookup("log-level").Value.Set("warn")
	some.VisitAll(func(x *pflag.Flag) { x.DefValue = x.Value.String() })
	c.Flags().AddFlagSet(some)
	c.Flags().BoolVar(&d.quiet, "no-browser", false, "print the address instead of opening the browser")
	return c
}

// ownData returns the directory of the data of this account.
func ownData(w environment) (string, error) {
	home := w.env("HOME")
	switch {
	case filepath.IsAbs(w.env("XDG_DATA_HOME")):
		return filepath.Join(w.env("XDG_DATA_HOME"), "writ"), nil
	case home == "":
		return "", usagef("data-dir: this account has no home; name a directory")
	default:
		return filepath.Join(home, ".local", "share", "writ"), nil
	}
}

// desktop starts a server, or opens the one that runs.
type desktop struct {
	*compose.Server
	w     environment
	quiet bool
	state desktopState
	file  string
}

// run opens the running desktop of the directory if there is one, and starts one otherwise.
func (d *desktop) run(ctx context.Context, f *serveFlags) error {
	if err := os.MkdirAll(f.DataDir, 0o700); err != nil {
		return fmt.Errorf("data-dir: %w", err)
	}
	d.file = filepath.Join(f.DataDir, desktopFile)
	f.DB, f.DataDir = filepath.Join(f.DataDir, "writ.db"), filepath.Join(f.DataDir, "data")
	for n := 0; ; n++ {
		state, err := readDesktop(d.file)
		if err != nil {
			return err
		}
		if state.running(ctx) {
			return d.show(ctx, state)
		}
		f.Addr = free(ctx, state.Address)
		s, err := f.settings(d.w)
		if err != nil {
			return err
		}
		d.state = desktopState{PID: os.Getpid(), Secret: secret.Text(rand.Text() + rand.Text())}
		err = live(ctx, d.w, &s.Executor, func() (_ daemon, err error) {
			d.Server, err = compose.NewDesktop(s, d.state.Secret)
			return d, err
		})
		// The other process is about to start.
		if !compose.InUse(err) || n == desktopLooks || !background.Wait(ctx, desktopLook) {
			return err
		}
	}
}

// A start waits so often, for so long, for another one that is under way.
const (
	desktopLooks = 50
	desktopLook  = 200 * time.Millisecond
)

// free returns an address on which a server can listen: the one of the last start if its port is free.
func free(ctx context.Context, last string) string {
	if last == "" {
		return desktopAddr
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", last)
	if err != nil {
		return desktopAddr
	}
	_ = l.Close()
	return last
}

// Start starts the server, notes its address for other starts, and opens it.
func (d *desktop) Start(ctx context.Context) error {
	if err := d.Server.Start(ctx); err != nil {
		return err
	}
	d.state.Address = d.Addr()
	if err := d.state.write(d.file); err != nil {
		return errors.Join(err, d.Server.Stop(context.WithoutCancel(ctx)))
	}
	return d.show(ctx, d.state)
}

// Stop stops the server. The file keeps the address.
func (d *desktop) Stop(ctx context.Context) error {
	err := d.Server.Stop(ctx)
	return errors.Join(err, desktopState{Address: d.state.Address}.write(d.file))
}

// show opens a desktop in the browser.
func (d *desktop) show(ctx context.Context, s desktopState) error {
	link := compose.SignInLink(s.Address, s.Secret)
	verb := "already runs"
	if s.PID == os.Getpid() {
		verb = "runs until you press Ctrl-C"
	}
	if _, err := fmt.Fprintf(d.w.out, "Writ %s: http://%s/ui/\n", verb, s.Address); err != nil {
		return err
	}
	if !d.quiet && startBrowser(ctx, d.w, link) == nil {
		return nil
	}
	_, err := fmt.Fprintf(d.w.out, "Open this address, which signs in once within a minute:\n  %s\n", link)
	return err
}

// running reports whether the desktop of the file answers: another program may have its port or its process id now.
func (s desktopState) running(ctx context.Context) bool {
	if s.PID == 0 || s.Address == "" || !alive(s.PID) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	question, answer := compose.RunningQuestion(s.Address, s.Secret)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, question, nil)
	if err != nil {
		return false
	}
	t := &http.Transport{DisableKeepAlives: true} // without the proxy of the environment
	resp, err := t.RoundTrip(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return err == nil && string(reply) == answer
}

// alive reports whether a process exists.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
