package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// browse signs in at the provider in the browser, which returns to a port of this machine with a code (RFC 8252). The
// code is of use only with the verifier, which never leaves this process but for the exchange (RFC 7636).
func (c *client) browse(
	ctx context.Context, w environment, protocol string, printOnly bool, timeout time.Duration,
) (token string, err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("nobody signed in within %s", timeout))
	defer cancel()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the browser: %w", err)
	}
	r := &returned{state: randomText(), host: l.Addr().String(), done: make(chan struct{})}
	verifier := randomText()
	r.exchange = func(ctx context.Context, code string) error {
		var made struct {
			Token string `json:"token"`
		}
		body := map[string]string{"code": code, "verifier": verifier}
		err := c.call(ctx, http.MethodPost, "/v1/auth/exchange", body, &made)
		token = made.Token
		return err
	}
	srv := &http.Server{Handler: r, ReadTimeout: answerTimeout, IdleTimeout: time.Second, MaxHeaderBytes: 16 << 10}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if srv.Shutdown(late) != nil { // the browser holds a connection open
			_ = srv.Close()
		}
		<-ended
	}()
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{"cli": {strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}, //nolint:forcetypeassert // of a TCP listener
		"challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "state": {r.state}}
	openBrowser(ctx, w, c.base+"/auth/"+protocol+"/login?"+query.Encode(), printOnly)
	select {
	case <-r.done:
		return token, r.err
	case err := <-ended:
		ended <- err
		return "", fmt.Errorf("listen for the browser: %w", err)
	case <-ctx.Done():
		cause := context.Cause(ctx)
		if errors.Is(cause, context.Canceled) {
			cause = errors.New("interrupted")
		}
		return "", fmt.Errorf("not signed in: %w", cause)
	}
}

// openBrowser opens an address, and prints it for the case that no browser appears.
func openBrowser(ctx context.Context, w environment, address string, printOnly bool) {
	if printOnly {
		_, _ = fmt.Fprintf(w.err, "Open this address in a browser of this machine:\n  %s\n", address)
		return
	}
	_, _ = fmt.Fprintf(w.err, "The browser opens for the sign-in. If it does not, open this address:\n  %s\n", address)
	_ = startBrowser(ctx, w, address)
}

// startBrowser opens an address with the program that BROWSER names, else with that of the system.
func startBrowser(ctx context.Context, w environment, address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	if own := strings.Fields(w.env("BROWSER")); len(own) > 0 {
		name, args = own[0], append(own[1:], address)
	}
	//nolint:gosec // the address begins with http and is one argument of a program without a shell
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ends with the opener, or with this process
	return nil
}

func randomText() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// returned waits for the browser with the first code that comes with the state of this sign-in, and exchanges it.
type returned struct {
	state, host string
	exchange    func(ctx context.Context, code string) error
	taken       atomic.Bool
	done        chan struct{} // closed after the exchange
	err         error
}

// loopbackPage is what the browser shows: the title twice, and the text. It loads nothing.
const loopbackPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>%[1]s</title></head>
<body><h1>%[1]s</h1><p>%[2]s</p></body>
</html>
`

// ServeHTTP ignores requests that are not of this sign-in: another page may send the browser here, also by a name that
// it made point to this machine.
func (r *returned) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	show := func(status int, title, text string) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Connection", "close")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, loopbackPage, html.EscapeString(title), html.EscapeString(text))
	}
	q := req.URL.Query()
	known := subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(r.state)) == 1
	switch {
	case req.Method != http.MethodGet || req.URL.Path != "/" || req.Host != r.host:
		show(http.StatusNotFound, "Not found", "This address is for one sign-in of the command line.")
	case !known || q.Get("code") == "":
		show(http.StatusBadRequest, "Sign-in failed", "This answer is not of the sign-in that the command line began.")
	case !r.taken.CompareAndSwap(false, true):
		show(http.StatusConflict, "Sign-in failed", "This answer was used before.")
	default:
		r.err = r.exchange(req.Context(), q.Get("code"))
		if r.err == nil {
			show(http.StatusOK, "Signed in", "You can close this page and go back to the command line.")
		} else {
			show(http.StatusForbidden, "Sign-in failed", r.err.Error())
		}
		close(r.done)
	}
}
